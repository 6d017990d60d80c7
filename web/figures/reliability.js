// Whether confidences are shares of right predictions: accuracy and mean confidence of samples by their confidence.

const RELIABILITY_SIDES = [{ key: "seen", name: "seen classes", tone: "blue" }, { key: "unseen", name: "unseen classes", tone: "vermillion" }];

defineFigure({
  id: "reliability",
  section: "accuracy",
  title: "Reliability of confidences",
  missing: "No reliability of confidences in this run.",
  data: (run) => (run.reliability && reliabilitySides(run.reliability).length ? run.reliability : null),

  sentence(reliability) {
    const sides = reliabilitySides(reliability);
    const errors = wordList(sides.map(({ side, name }) => `${percent(side.ece)} on test samples of ${name}`));
    const words = { "1": "higher than", "-1": "lower than", "0": "equal to" };
    const leaning = sides.map(({ side, name }) => ({ name, word: words[Math.sign(Number((meanOfBins(side, "confidence") - meanOfBins(side, "accuracy")).toFixed(1)))] }));
    const told = leaning.length === 2 && leaning[0].word === leaning[1].word
      ? `confidences are on average ${leaning[0].word} accuracy on both`
      : leaning.map(({ name, word }) => `on ${name} confidences are on average ${word} accuracy`).join(", ");
    return `The expected calibration error among all classes is ${errors} (percentage points); ${told}.`;
  },

  table: (reliability) => ({
    columns: ["classes", "above %", "up to %", "samples", "mean confidence", "accuracy"],
    rows: reliabilitySides(reliability).flatMap(({ side, key }) => side.bins.map((bin, i) =>
      [key, (100 * i) / side.bins.length, (100 * (i + 1)) / side.bins.length, bin.samples, bin.confidence, bin.accuracy])),
  }),

  draw(frame, reliability) {
    const sides = reliabilitySides(reliability);
    const { boxes, height } = layoutPanels(sides.length, sides.length > 1 ? frame.width : Math.min(frame.width, 560), 430);
    const svg = frame.svg(height);
    frame.marks(sides.map((side, i) => drawReliability(svg, boxes[i], side)), { radius: 200 });
  },
});

function reliabilitySides(reliability) {
  return RELIABILITY_SIDES.filter(({ key }) => reliability[key]).map((one) => ({ ...one, side: reliability[one.key] }));
}

// Over the samples.
function meanOfBins({ bins, samples }, key) {
  return d3.sum(bins, (bin) => bin.samples * (bin[key] ?? 0)) / samples;
}

// A bar of accuracy for each bin with its gap to the mean confidence, and how many samples are in it. Returns the marks.
function drawReliability(root, box, { side, name, tone }) {
  const counts = 44;
  let top = box.y + drawPanelTitle(root, box, `Test samples of ${name}: ECE ${percent(side.ece)}`);
  top += drawLegend(root, [{ name: "accuracy", tone, mark: "bar" }, { name: "gap to mean confidence", tone: "ink", mark: "gap" },
    { name: "no gap", tone: "ink", dash: "4 3" }], box.x, top, box.width) + 4;
  const plot = { left: box.x + MARGIN.left, right: box.x + box.width - MARGIN.right, top: top + 26, bottom: box.y + box.height - MARGIN.bottom - counts - 22 };
  const x = d3.scaleLinear().domain([0, 100]).range([plot.left, plot.right]);
  const y = d3.scaleLinear().domain([0, 100]).range([plot.bottom, plot.top]);
  const bottom = box.y + box.height - MARGIN.bottom;
  const most = d3.max(side.bins, (bin) => bin.samples);
  const tall = d3.scaleLinear().domain([0, most]).range([0, counts]);
  drawAxisLeft(root, y, plot.left, plot.right - plot.left, "Accuracy, %");
  root.append("line").attr("class", "axis-line").attr("x1", plot.left).attr("x2", plot.right).attr("y1", plot.bottom).attr("y2", plot.bottom);
  root.append("text").attr("class", "axis-label").attr("x", box.x).attr("y", bottom - counts - 6).text(`Samples, at most ${most} in a bar`);
  drawAxisBottom(root, x, bottom, "Confidence of the best class, %");
  const g = root.append("g").attr("class", `tone-${tone}`);
  const gaps = root.append("g").attr("class", "tone-ink");
  const width = 100 / side.bins.length;
  const rect = (layer, kind, i, y0, y1) => layer.append("rect").attr("class", kind).attr("x", x(i * width) + 1)
    .attr("width", Math.max(1, x((i + 1) * width) - x(i * width) - 2)).attr("y", Math.min(y0, y1)).attr("height", Math.max(0.5, Math.abs(y1 - y0)));
  root.append("line").attr("class", "guide").attr("x1", x(0)).attr("x2", x(100)).attr("y1", y(0)).attr("y2", y(100));
  return side.bins.map((bin, i) => {
    if (bin.samples === 0) return null;
    rect(g, "bar light mark", i, y(0), y(bin.accuracy));
    rect(gaps, "gap", i, y(bin.accuracy), y(bin.confidence));
    rect(g, "bar", i, bottom, bottom - tall(bin.samples));
    return { x: x((i + 0.5) * width), y: y(bin.accuracy), tip: { title: `Confidence ${compact(i * width)} to ${compact((i + 1) * width)} %`, rows: [
      ["Accuracy", `${percent(bin.accuracy)} %`], ["Mean confidence", `${percent(bin.confidence)} %`], ["Samples", `${bin.samples} of ${side.samples}`]] } };
  }).filter(Boolean);
}
