// Hubness: how often each sample is among the k nearest neighbours of others.

defineFigure({
  id: "hubness",
  section: "geometry",
  title: "Hubness",
  missing: "No hubness: it needs at least twenty samples of unseen classes and a model that predicts class vectors.",
  data: (run) => (run.hubness && run.hubness.histogram ? run.hubness : null),

  sentence({ k, skewness }) {
    const less = skewness.mapped < skewness.raw ? "fewer hubs" : "more hubs";
    return `Skewness of the ${k}-occurrence is ${fixed(skewness.raw, 2)} raw and ${fixed(skewness.mapped, 2)} mapped: ${less} after the mapping.`;
  },

  table: ({ histogram }) => ({
    columns: ["occurrence", "raw", "mapped"],
    rows: d3.range(Math.max(histogram.raw.length, histogram.mapped.length)).map((i) => [i, histogram.raw[i] ?? 0, histogram.mapped[i] ?? 0]),
  }),

  draw(frame, { k, histogram }) {
    const length = Math.max(histogram.raw.length, histogram.mapped.length);
    const edges = d3.range(length + 1).map((i) => i - 0.5);
    const series = STATES.filter(({ key }) => histogram[key]).map((state) => ({ ...state, edges, dots: null,
      points: histogram[state.key].map((number, i) => ({ x: i, y: number, tip: { title: state.name, rows: [["Occurrence", i === length - 1 ? `${i} or more` : String(i)], ["Samples", String(number)]] } })) }));
    const height = 360;
    const svg = frame.svg(height);
    frame.marks(drawLines(svg, { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: `Times among the ${k} nearest of another sample`, format: (i) => (i === length - 1 ? `${i}+` : wholeNumber(i)), domain: [-0.5, length - 0.5] },
      y: { label: "Samples of unseen classes", format: wholeNumber, domain: [0, 1.08 * (d3.max(series, (each) => d3.max(each.points, (point) => point.y)) || 1)] },
      series,
    }), { radius: 60 });
  },
});
