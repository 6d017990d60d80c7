// How the classes' accuracies spread: one dot per class, seen and unseen in lanes of their own.

defineFigure({
  id: "class-strip",
  section: "accuracy",
  title: "Spread of class accuracy",
  missing: "No accuracies by class in this run.",
  data(run) {
    const lanes = [
      { name: "Unseen, ZSL", tone: "orange", unseen: true, key: "zsl" },
      { name: "Unseen, GZSL", tone: "vermillion", unseen: true, key: "gzsl" },
      { name: "Seen, GZSL", tone: "blue", unseen: false, key: "gzsl" },
    ].map((lane) => ({ ...lane, classes: run.per_class.filter((one) => one.unseen === lane.unseen && isNumber(one[lane.key])) }))
      .filter((lane) => lane.classes.length);
    return lanes.length ? lanes : null;
  },

  sentence: (lanes) => `${lanes.map((lane) => {
    const low = d3.min(lane.classes, (one) => one[lane.key]);
    const high = d3.max(lane.classes, (one) => one[lane.key]);
    return `${lane.name}: ${count(lane.classes.length, "class", "classes")} from ${percent(low)} to ${percent(high)}, mean ${percent(d3.mean(lane.classes, (one) => one[lane.key]))}`;
  }).join("; ")}.`,

  table: (lanes) => ({
    columns: ["lane", "class", "samples", "accuracy"],
    rows: lanes.flatMap((lane) => lane.classes.map((one) => [lane.name, one.class, one.samples, one[lane.key]])),
  }),

  draw(frame, lanes) {
    const laneHeight = 92;
    const left = 14;
    const right = frame.width - 16;
    const bottom = 8 + lanes.length * laneHeight;
    const svg = frame.svg(bottom + MARGIN.bottom);
    const x = d3.scaleLinear().domain([0, 100]).range([left, right]);
    drawAxisBottom(svg, x, bottom, "Accuracy of the class, %", { ticks: 10, grid: bottom - 8 });
    const rows = lanes.map((lane, i) => {
      const middle = 8 + (i + 0.62) * laneHeight;
      const g = svg.append("g").attr("class", `tone-${lane.tone}`);
      const sorted = [...lane.classes].sort((a, b) => a[lane.key] - b[lane.key]);
      const radius = sorted.length > 300 ? 2.5 : 4;
      const placed = swarm(sorted.map((one) => x(one[lane.key])), radius, laneHeight * 0.33);
      const mean = d3.mean(sorted, (one) => one[lane.key]);
      const marks = sorted.map((one, j) => {
        const y = middle + placed[j];
        g.append("circle").attr("class", "dot mark").attr("fill-opacity", 0.75).attr("cx", x(one[lane.key])).attr("cy", y).attr("r", radius);
        return { x: x(one[lane.key]), y, tip: { title: one.class, rows: [[lane.name, `${percent(one[lane.key])} %`], ["Samples", String(one.samples)]] } };
      });
      g.append("line").attr("class", "mean").attr("x1", x(mean)).attr("x2", x(mean)).attr("y1", middle - laneHeight * 0.36).attr("y2", middle + laneHeight * 0.36);
      svg.append("text").attr("class", "strong halo").attr("x", left).attr("y", 8 + i * laneHeight + 16).text(`${lane.name}, mean ${percent(mean)}`);
      return marks;
    });
    frame.marks(rows);
  },
});

// Offsets across the lane so that dots at similar positions do not hide one another; `xs` must rise.
function swarm(xs, radius, room) {
  const offsets = [];
  xs.forEach((x, i) => {
    const near = [];
    for (let j = i - 1; j >= 0 && x - xs[j] < 2 * radius && near.length < 60; j -= 1) near.push([xs[j], offsets[j]]);
    let best = 0;
    for (let step = 0; step * radius * 0.5 <= room; step += 1) {
      const side = step * radius * 0.5;
      const free = [side, -side].find((y) => near.every(([nx, ny]) => (x - nx) ** 2 + (y - ny) ** 2 >= 4 * radius * radius * 0.9));
      if (free !== undefined) {
        best = free;
        break;
      }
      best = ((i * 7919) % 100) / 50 * room - room;
    }
    offsets.push(best);
  });
  return offsets;
}
