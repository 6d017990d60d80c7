// Angles between class means, and between the classes as the model places them: orthogonal classes are easier to tell
// apart.

function angleStates(angles, run) {
  const places = { key: "places", name: `${prototypeWord(run.summary)}s of the classes`, tone: "green", dash: "8 3 2 3" };
  return [...STATES, places].filter(({ key }) => angles[key]);
}

defineFigure({
  id: "angles",
  section: "geometry",
  title: "Angles between class means",
  missing: "No class angles: they need at least two classes and a model that predicts class vectors.",
  data: (run) => run.angles || null,

  sentence(angles, run) {
    const medians = Object.fromEntries(STATES.filter(({ key }) => angles[key])
      .map(({ key }) => [key, `${binnedMedian(angles.edges, angles[key]).toFixed(0)}°`]));
    const places = angles.places ? `; between the ${prototypeWord(run.summary)}s of two classes it is ${binnedMedian(angles.edges, angles.places).toFixed(0)}°` : "";
    return `The median angle between two class means is ${compareStates(medians)}${places}.`;
  },

  table(angles, run) {
    const states = angleStates(angles, run);
    return {
      columns: ["from", "to", ...states.map(({ name }) => name)],
      rows: d3.range(angles.edges.length - 1).map((i) => [angles.edges[i], angles.edges[i + 1], ...states.map(({ key }) => angles[key][i])]),
    };
  },

  draw(frame, angles, run) {
    const { edges } = angles;
    const series = angleStates(angles, run).map((state) => ({ ...state, edges,
      dots: null, points: angles[state.key].map((number, i) => ({ x: (edges[i] + edges[i + 1]) / 2, y: number,
        tip: { title: state.name, rows: [["Angle", `${edges[i]} to ${edges[i + 1]}°`], ["Pairs of classes", String(number)]] } })) }));
    const height = 360;
    const svg = frame.svg(height);
    frame.marks(drawLines(svg, { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: "Angle, degrees", domain: d3.extent(edges), ticks: 9 },
      y: { label: "Pairs of classes", format: wholeNumber, domain: [0, 1.08 * (d3.max(series, (each) => d3.max(each.points, (point) => point.y)) || 1)] },
      series,
    }), { radius: 60 });
  },
});

function binnedMedian(edges, counts) {
  const half = d3.sum(counts) / 2;
  let below = 0;
  for (let i = 0; i < counts.length; i += 1) {
    if (below + counts[i] >= half && counts[i] > 0) return edges[i] + ((half - below) / counts[i]) * (edges[i + 1] - edges[i]);
    below += counts[i];
  }
  return edges[edges.length - 1];
}
