// ZSL accuracy by the number of examples of each unseen class, with and without descriptions.

defineFigure({
  id: "few-shot",
  section: "field",
  title: "Taught by a few examples",
  missing: "No few-shot results in this run: add them with `parsnets eval --few-shot 1,2,5,10 --out DIR/few-shot.json`.",
  data: (run) => (run.few_shot && run.few_shot.rows.length ? run.few_shot : null),

  sentence({ draws, descriptions_alone: none, rows }) {
    const last = rows[rows.length - 1];
    return `ZSL accuracy is ${percent(none)} by descriptions alone and ${meanSd(last.taught)} with ${count(last.examples, "example")} of each unseen class; `
      + `examples alone reach ${meanSd(last.examples_alone)} (${count(draws, "draw")}).`;
  },

  table: ({ descriptions_alone: none, rows }) => ({
    columns: ["examples", "taught mean", "taught sd", "examples alone mean", "examples alone sd"],
    rows: [[0, none, null, null, null], ...rows.map((row) => [row.examples, row.taught.mean, row.taught.sd, row.examples_alone.mean, row.examples_alone.sd])],
  }),

  draw(frame, { descriptions_alone: none, rows }) {
    const point = (name, examples, cell) => ({ x: examples, y: cell.mean, sd: cell.sd,
      tip: { title: `${name}, ${count(examples, "example")}`, rows: [["ZSL", `${meanSd(cell)} %`]] } });
    const series = [
      { name: "descriptions and examples", tone: "orange", dots: "dot", dash: null,
        points: [point("descriptions", 0, { mean: none, sd: null }), ...rows.map((row) => point("taught", row.examples, row.taught))] },
      { name: "examples alone", tone: "blue", dots: "ring", dash: "5 3", points: rows.map((row) => point("examples alone", row.examples, row.examples_alone)) },
    ];
    const ends = series.flatMap((one) => one.points.flatMap(({ y, sd }) => [y - (sd || 0), y + (sd || 0)]));
    const height = 380;
    frame.marks(drawLines(frame.svg(height), { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: "Examples of each unseen class", domain: padded([0, ...rows.map((row) => row.examples)], 0.03), format: wholeNumber },
      y: { label: "ZSL accuracy, %", domain: padded(ends, 0.12) },
      series,
    }), { radius: 60 });
  },
});
