// Scores of known and unknown samples around the model's thresholds.

const OPEN_SET_KINDS = [
  { key: "known_seen", name: "known, seen classes", tone: "blue", dash: null },
  { key: "known_unseen", name: "known, unseen classes", tone: "green", dash: "8 3 2 3" },
  { key: "unknown", name: "unknown", tone: "vermillion", dash: "4 3" },
];

function openSetKinds(data) {
  return OPEN_SET_KINDS.filter(({ key }) => data.histogram[key]);
}

defineFigure({
  id: "open-set-scores",
  section: "open-set",
  title: "Scores around the thresholds",
  data: (run) => run.open_set || null,

  sentence: (data) => `Rejected at the thresholds: ${wordList(openSetKinds(data).map(({ key, name }) => `${percent(data[key].rejected)} % of the ${name === "unknown" ? "unknown samples" : `samples of ${name.replace("known, ", "")} in the bank`}`))}.`,

  table(data) {
    const kinds = openSetKinds(data);
    const { edges, out_of_range: out } = data.histogram;
    return {
      columns: ["from", "to", ...kinds.map(({ name }) => `${name}, %`)],
      rows: [["out of range", null, ...kinds.map(({ key }) => out[key])],
        ...d3.range(edges.length - 1).map((i) => [edges[i], edges[i + 1], ...kinds.map(({ key }) => data.histogram[key][i])])],
    };
  },

  draw(frame, data) {
    const { edges, out_of_range: out } = data.histogram;
    const last = edges.length - 2;
    const range = (i) => (i === 0 ? `below ${compact(edges[1])}` : i === last ? `from ${compact(edges[last])} on` : `${compact(edges[i])} to ${compact(edges[i + 1])}`);
    const series = openSetKinds(data).map((kind) => ({ ...kind, edges, dots: null,
      points: data.histogram[kind.key].map((share, i) => ({ x: (edges[i] + edges[i + 1]) / 2, y: share,
        tip: { title: kind.name, rows: [["Above the threshold by", range(i)], ["Samples", `${percent(share)} %`], ["Out of range, in no bin", `${percent(out[kind.key])} %`]] } })) }));
    const height = 380;
    frame.marks(drawLines(frame.svg(height), { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: "Known score minus the threshold that applies", domain: d3.extent(edges) },
      y: { label: "Samples of the kind, %", domain: [0, 1.2 * (d3.max(series, (one) => d3.max(one.points, (point) => point.y)) || 1)] },
      series,
      after(g, x, y, plot) {
        g.append("line").attr("class", "guide").attr("x1", x(0)).attr("x2", x(0)).attr("y1", plot.top).attr("y2", plot.bottom);
        g.append("text").attr("class", "strong halo end").attr("x", x(0) - 6).attr("y", plot.top + 12).text("rejected");
        g.append("text").attr("class", "strong halo").attr("x", x(0) + 6).attr("y", plot.top + 12).text("accepted");
      },
    }), { radius: 60 });
  },
});
