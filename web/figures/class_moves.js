// How far each unseen class went when the model adapted to the unlabelled test samples.

defineFigure({
  id: "class-moves",
  section: "field",
  title: "Classes that moved",
  missing: "No moves of classes in this run: they come with transductive results.",
  data: (run) => {
    const list = (run.transductive || []).filter((one) => one.moves.length);
    return list.length ? list : null;
  },

  sentence(list) {
    return list.map(({ protocol, moves }) => {
      const farthest = moves[d3.scan(moves, (a, b) => b.degrees - a.degrees)];
      return `Transductive (${protocol}): ${count(moves.length, "class", "classes")} moved, by ${fixed(d3.mean(moves, (one) => one.degrees), 1)} degrees on average; `
        + `${farthest.class} moved farthest, by ${fixed(farthest.degrees, 1)}.`;
    }).join(" ");
  },

  table: (list) => ({
    columns: ["protocol", "class", "degrees", "support"],
    rows: list.flatMap(({ protocol, moves }) => moves.map((one) => [protocol, one.class, one.degrees, one.support])),
  }),

  controls(frame, list) {
    frame.chart.classList.toggle("tall", d3.max(list, (one) => one.moves.length) > 20);
  },

  draw(frame, list) {
    const tones = ["orange", "green"];
    const classes = new Map();
    list.forEach(({ protocol, moves }, i) => moves.forEach((one) => {
      if (!classes.has(one.class)) classes.set(one.class, []);
      classes.get(one.class).push({ value: one.degrees, tone: tones[i], kind: i === 0 ? "dot" : "ring",
        tip: { title: one.class, rows: [["Protocol", protocol], ["Degrees", fixed(one.degrees, 2)], ["Samples, by weight", fixed(one.support, 1)]] } });
    }));
    const rows = [...classes].map(([label, values]) => ({ label, values }))
      .sort((a, b) => d3.max(b.values, (one) => one.value) - d3.max(a.values, (one) => one.value));
    const most = d3.max(rows, (row) => d3.max(row.values, (one) => one.value));
    drawRows(frame, rows, { domain: [0, most * 1.05 || 1], label: "Angle between its prototypes, degrees", rowHeight: 20,
      legend: list.map(({ protocol }, i) => ({ name: protocol, tone: tones[i], mark: i === 0 ? "dot" : "ring" })) });
  },
});
