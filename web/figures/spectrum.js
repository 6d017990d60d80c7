// Singular values of each class's features: how much of a class lies along a few directions.

const STATES = [
  { key: "raw", name: "raw features", tone: "grey", dash: "2 3", dots: "ring" },
  { key: "without_mmg", name: "mapped, without MMG", tone: "vermillion", dash: "6 3", dots: "ring" },
  { key: "mapped", name: "mapped", tone: "blue", dash: null, dots: "dot" },
];

// What a model compares samples with, from `targets` of its summary or places; and the heading of mapped samples.
const prototypeWord = ({ targets }) => (targets === "classes" ? "prototype" : "class vector");
const mappedTitle = (run) => (run.summary.targets === "classes" ? "Class space" : "Mapped");

// "5 % for raw features and 51 % when mapped", from a text for each state that there is.
function compareStates({ raw, without_mmg: without, mapped }) {
  const parts = raw ? [`${raw} for raw features`] : [];
  if (mapped && mapped === without) parts.push(`${mapped} when mapped, with or without MMG`);
  else if (without) parts.push(`${without} when mapped without MMG`, ...(mapped ? [`${mapped} when mapped with it`] : []));
  else if (mapped) parts.push(`${mapped} when mapped`);
  return wordList(parts);
}

defineFigure({
  id: "spectrum",
  section: "geometry",
  title: "Singular values within a class",
  missing: "No singular values: they need at least two classes and a model that predicts class vectors.",
  data: (run) => run.spectrum || null,

  sentence(spectrum) {
    const shares = Object.fromEntries(STATES.filter(({ key }) => spectrum.mean[key] && spectrum.mean[key].length)
      .map(({ key }) => [key, `${percent(100 * spectrum.mean[key][0])} %`]));
    return `On average over ${count(spectrum.classes.length, "class", "classes")}, the first singular value's share of the sum is ${compareStates(shares)}.`;
  },

  table: (spectrum) => ({
    columns: ["class", "values", "index", "share"],
    rows: [{ class: "mean over classes", ...spectrum.mean }, ...spectrum.classes].flatMap((one) => STATES.flatMap(({ key, name }) =>
      (one[key] || []).map((value, i) => [one.class, name, i + 1, value]))),
  }),

  controls(frame, spectrum) {
    frame.state.pick = "mean";
    frame.controls.append(selectControl("Class", [["mean", "mean over classes"], ...spectrum.classes.map((one, i) => [String(i), one.class])], "mean", (value) => {
      frame.state.pick = value;
      frame.redraw();
    }));
  },

  draw(frame, spectrum) {
    const one = frame.state.pick === "mean" ? spectrum.mean : spectrum.classes[Number(frame.state.pick)];
    const series = STATES.filter(({ key }) => one[key] && one[key].length).map((state) => ({ ...state,
      points: one[state.key].map((value, i) => ({ x: i + 1, y: value, tip: { title: state.name, rows: [["Singular value", String(i + 1)], ["Share of the sum", `${percent(100 * value)} %`]] } })) }));
    const height = 380;
    const svg = frame.svg(height);
    const length = d3.max(series, (each) => each.points.length);
    frame.marks(drawLines(svg, { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: "Index of the singular value", domain: [0.5, length + 0.5], format: wholeNumber },
      y: { label: "Share of the sum, %", domain: [0, 1.08 * d3.max(series, (each) => d3.max(each.points, (point) => point.y))], format: (value) => compact(100 * value) },
      series,
    }));
  },
});
