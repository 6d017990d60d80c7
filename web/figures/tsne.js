// t-SNE of the test samples, raw beside mapped; one class can be picked out.

defineFigure({
  id: "tsne",
  section: "geometry",
  title: "t-SNE map of the samples",
  missing: "No t-SNE map: it needs at least ten samples of unseen classes and a model that predicts class vectors.",
  data: (run) => (run.tsne && run.tsne.label.length ? run.tsne : null),

  sentence(tsne, run) {
    const right = d3.sum(tsne.correct);
    const share = (points) => `${percent(100 * neighbourAgreement(points, tsne.label))} %`;
    return `${count(tsne.label.length, "sample")} of ${count(tsne.classes.length, "class", "classes")}, ${percent((100 * right) / tsne.label.length)} % predicted right ${tsne.competing === "unseen" ? "among the unseen classes" : "with all classes competing"} (filled); `
      + `the nearest neighbour on the map has the same class for ${share(tsne.raw)} raw and ${share(tsne.mapped)} mapped.`
      + (tsne.places ? ` A line joins the predicted ${prototypeWord(run.summary)} of each class (×) and the mean of its samples (●).` : "");
  },

  table: (tsne) => ({
    columns: ["sample", "class", "predicted", "correct", "raw x", "raw y", "mapped x", "mapped y"],
    rows: [...tsne.label.map((label, i) => [tsne.sample[i], tsne.classes[label], tsne.predicted[i], tsne.correct[i], ...tsne.raw[i], ...tsne.mapped[i]]),
      ...["places", "means"].flatMap((kind) => (tsne[kind] || []).map((point, i) => [kind === "places" ? "prototype" : "mean", tsne.classes[i], null, null, null, null, ...point]))],
  }),

  controls(frame, tsne) {
    frame.state.picked = null;
    const size = tsne.classes.length;
    if (size <= 12) {
      const color = classPalette(size);
      const buttons = tsne.classes.map((name, i) => element("button", { type: "button", class: "key", "aria-pressed": "false", onclick: () => pickClass(frame, frame.state.picked === i ? null : i) },
        classSwatch(i, size, color(i)), name));
      frame.state.onPick = () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(frame.state.picked === i)));
      frame.controls.append(element("span", { class: "control keys", role: "group", "aria-label": "Highlight a class" }, ...buttons));
    } else {
      const order = d3.range(size).sort((a, b) => tsne.classes[a].localeCompare(tsne.classes[b]));
      const control = selectControl("Highlight", [["", "no class"], ...order.map((i) => [String(i), tsne.classes[i]])], "", (value) => pickClass(frame, value === "" ? null : Number(value)));
      frame.state.onPick = () => {
        control.querySelector("select").value = frame.state.picked === null ? "" : String(frame.state.picked);
      };
      frame.controls.append(control, element("span", { class: "note" }, "or click a point"));
    }
  },

  draw(frame, tsne, run) {
    const { boxes, height } = layoutPanels(2, frame.width, Math.min(520, Math.max(340, frame.width * 0.48)), 320);
    const svg = frame.svg(height);
    const places = tsne.places ? tsne.places.map((place, i) => ({ label: i, place, mean: tsne.means[i] })) : [];
    const rows = [["Raw features", tsne.raw, []], [mappedTitle(run), tsne.mapped, places]]
      .flatMap(([title, points, classes], i) => drawScatter(svg, boxes[i], title, points, classes, tsne, frame.state.picked));
    frame.marks(rows, { radius: 14 });
  },

  onClick(frame, mark) {
    if (mark) pickClass(frame, frame.state.picked === mark.label ? null : mark.label);
  },

  onKey(frame, event) {
    if (event.key !== "Enter" || !frame.at) return false;
    const [row, index] = frame.at;
    const { label } = frame.markRows[row][index];
    pickClass(frame, frame.state.picked === label ? null : label);
    return true;
  },
  hint: "Arrow keys step through the samples, up and down change the map, Enter highlights the sample's class, Escape closes the tooltip.",
});

function pickClass(frame, index) {
  const { at } = frame;
  frame.state.picked = index;
  frame.state.onPick();
  frame.redraw();
  frame.at = at;
}

function classSwatch(index, size, color) {
  const svg = d3.create("svg").attr("width", 14).attr("height", 14).attr("aria-hidden", "true");
  svg.append("path").attr("transform", "translate(7,7)").attr("d", symbolPath(classShape(index, size), 60)).style("fill", color);
  return svg.node();
}

// Samples as points, and over them classes: a cross at the place, a disc at the mean, and a line between them.
function drawScatter(svg, box, title, points, classes, tsne, picked) {
  const top = box.y + drawPanelTitle(svg, box, title);
  const plot = { left: box.x + 10, right: box.x + box.width - 10, top: top + 10, bottom: box.y + box.height - 10 };
  svg.append("rect").attr("class", "plot-frame").attr("x", box.x).attr("y", top).attr("width", box.width).attr("height", box.y + box.height - top);
  const all = [...points, ...classes.flatMap(({ place, mean }) => [place, mean])];
  const x = d3.scaleLinear().domain(d3.extent(all, (p) => p[0])).range([plot.left, plot.right]);
  const y = d3.scaleLinear().domain(d3.extent(all, (p) => p[1])).range([plot.bottom, plot.top]);
  const size = tsne.classes.length;
  const color = classPalette(size);
  const area = points.length > 1000 ? 22 : 42;
  const shapes = d3.range(size).map((i) => symbolPath(classShape(i, size), area));
  const layer = svg.append("g");
  const order = d3.range(points.length);
  if (picked !== null) order.sort((a, b) => (tsne.label[a] === picked) - (tsne.label[b] === picked));
  for (const i of order) {
    const label = tsne.label[i];
    const tone = color(label);
    const path = layer.append("path").attr("class", "mark point").attr("d", shapes[label])
      .attr("transform", `translate(${x(points[i][0]).toFixed(1)},${y(points[i][1]).toFixed(1)})`)
      .style("stroke", tone).style("fill", tsne.correct[i] ? tone : "var(--paper)");
    if (picked !== null && label !== picked) path.style("opacity", 0.12);
  }
  const over = svg.append("g").attr("class", "class-place").selectAll(null).data(classes).enter();
  const shade = ({ label }) => (picked !== null && label !== picked ? 0.12 : 1);
  over.append("line").style("opacity", shade).attr("x1", ({ place }) => x(place[0])).attr("y1", ({ place }) => y(place[1]))
    .attr("x2", ({ mean }) => x(mean[0])).attr("y2", ({ mean }) => y(mean[1]));
  over.append("circle").style("opacity", shade).attr("cx", ({ mean }) => x(mean[0])).attr("cy", ({ mean }) => y(mean[1])).attr("r", 3.5);
  over.append("path").style("opacity", shade).attr("d", symbolPath(d3.symbolCross, 60))
    .attr("transform", ({ place }) => `translate(${x(place[0])},${y(place[1])}) rotate(45)`);
  if (picked !== null) {
    const own = d3.range(points.length).filter((i) => tsne.label[i] === picked);
    if (own.length) {
      const name = ellipsis(tsne.classes[picked], box.width - 40);
      const half = textWidth(name, 600) / 2 + 4;
      const middle = Math.min(plot.right - half, Math.max(plot.left + half, x(d3.median(own, (i) => points[i][0]))));
      svg.append("text").attr("class", "strong halo middle").attr("x", middle).attr("y", y(d3.median(own, (i) => points[i][1])) - 10).text(name);
    }
  }
  const samples = points.map((point, i) => ({ x: x(point[0]), y: y(point[1]), label: tsne.label[i], tip: { title: tsne.classes[tsne.label[i]], sample: tsne.sample[i],
    rows: [["Predicted", tsne.predicted[i]], ["Right", tsne.correct[i] ? "yes" : "no"], ["Sample", String(tsne.sample[i])]] } }));
  const ends = classes.flatMap(({ label, place, mean }) => [["Predicted by the model (×)", place], ["Mean of the samples (●)", mean]]
    .map(([title, point]) => ({ x: x(point[0]), y: y(point[1]), label, tip: { title, rows: [["Class", tsne.classes[label]]] } })));
  return ends.length ? [samples, ends] : [samples];
}

// The share of points whose nearest neighbour on the map has the same label.
function neighbourAgreement(points, labels) {
  if (points.length < 2) return 1;
  const tree = d3.quadtree(d3.range(points.length), (i) => points[i][0], (i) => points[i][1]);
  let same = 0;
  for (let i = 0; i < points.length; i += 1) {
    tree.remove(i);
    const near = tree.find(points[i][0], points[i][1]);
    if (labels[near] === labels[i]) same += 1;
    tree.add(i);
  }
  return same / points.length;
}
