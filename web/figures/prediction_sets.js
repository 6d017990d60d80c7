// Prediction sets: how often they contain the right class, and how many classes they have.

defineFigure({
  id: "prediction-sets",
  section: "accuracy",
  title: "Prediction sets",
  missing: "No prediction sets in this run: calibrate its model with `parsnets calibrate`.",
  data: (run) => (run.sets && run.sets.length ? run.sets : null),

  sentence(sets) {
    const middle = sets[Math.floor(sets.length / 2)];
    const told = RELIABILITY_SIDES.filter(({ key }) => middle[key]).map(({ key, name }) =>
      `${percent(middle[key].coverage)} % of the test samples of ${name} with ${fixed(middle[key].size, 2)} classes on average`);
    return `Sets with a stated coverage of ${compact(middle.stated)} % contain the right class for ${wordList(told)}. Thresholds of unseen classes are calibrated on validation classes.`;
  },

  table: (sets) => ({
    columns: ["stated coverage", "classes", "samples", "measured coverage", "average size"],
    rows: sets.flatMap((one) => RELIABILITY_SIDES.filter(({ key }) => one[key]).map(({ key }) =>
      [one.stated, key, one[key].samples, one[key].coverage, one[key].size])),
  }),

  draw(frame, sets) {
    const series = (value) => RELIABILITY_SIDES.filter(({ key }) => sets[0][key]).map(({ key, name, tone }) => ({
      name: key === "unseen" ? "unseen, calibrated on validation classes" : name, tone, dots: key === "seen" ? "dot" : "ring", dash: key === "seen" ? null : "5 3",
      points: sets.map((one) => ({ x: one.stated, y: one[key][value], tip: { title: `${name}, ${compact(one.stated)} % stated`, rows: [
        ["Measured coverage", `${percent(one[key].coverage)} %`], ["Average size", fixed(one[key].size, 2)], ["Samples", String(one[key].samples)]] } })) }));
    const stated = sets.map((one) => one.stated);
    const x = { label: "Stated coverage, %", domain: padded(stated, 0.1) };
    const measured = series("coverage");
    const sizes = series("size");
    const values = (all) => all.flatMap((one) => one.points.map((point) => point.y));
    const { boxes, height } = layoutPanels(2, frame.width, 380);
    const svg = frame.svg(height);
    const low = Math.max(0, d3.min([...values(measured), ...stated]) - 4);
    frame.marks([
      ...drawLines(svg, boxes[0], { title: "Measured coverage", x, y: { label: "Measured coverage, %", domain: [low, 100] }, series: measured,
        before(g, px, py) {
          const ends = [Math.max(x.domain[0], low), Math.min(x.domain[1], 100)];
          g.append("line").attr("class", "guide").attr("x1", px(ends[0])).attr("x2", px(ends[1])).attr("y1", py(ends[0])).attr("y2", py(ends[1]));
        } }),
      ...drawLines(svg, boxes[1], { title: "Average size", x, y: { label: "Classes in a set", domain: [0, 1.1 * d3.max(values(sizes))] }, series: sizes }),
    ], { radius: 60 });
  },
});
