// Three classes in their principal coordinates: a flat map, and one in space that can be turned.

const SUBSPACE_SHAPES = [d3.symbolCircle, d3.symbolTriangle, d3.symbolSquare];
const SUBSPACE_TONES = ["blue", "vermillion", "green"];

function subspaceData(run) {
  return run.subspaces && run.subspaces.label.length ? run.subspaces : null;
}

function subspaceTable(subspaces) {
  return {
    columns: ["class", "raw x", "raw y", "raw z", "mapped x", "mapped y", "mapped z"],
    rows: subspaces.label.map((label, i) => [subspaces.classes[label], ...subspaces.raw[i], ...subspaces.mapped[i]]),
  };
}

// Mean distance between the classes' centres over the mean distance of samples from their own centre.
function separation(points, labels, size, dimensions) {
  const centres = d3.range(size).map((label) => {
    const own = points.filter((_, i) => labels[i] === label);
    return d3.range(dimensions).map((d) => d3.mean(own, (p) => p[d]) || 0);
  });
  const distance = (a, b) => Math.sqrt(d3.sum(d3.range(dimensions), (d) => (a[d] - b[d]) ** 2));
  const within = d3.mean(points, (p, i) => distance(p, centres[labels[i]]));
  const pairs = d3.range(size).flatMap((a) => d3.range(a + 1, size).map((b) => distance(centres[a], centres[b])));
  return pairs.length && within > 0 ? d3.mean(pairs) / within : null;
}

function subspaceLegend(svg, subspaces, width) {
  let left = 0;
  let top = 0;
  subspaces.classes.forEach((name, i) => {
    const text = ellipsis(name, width - 30);
    if (left > 0 && left + 20 + textWidth(text) > width) {
      left = 0;
      top += 20;
    }
    const g = svg.append("g").attr("class", `tone-${SUBSPACE_TONES[i]}`).attr("transform", `translate(${left},${top})`);
    g.append("path").attr("class", "dot").attr("transform", "translate(8,9)").attr("d", symbolPath(SUBSPACE_SHAPES[i], 55));
    g.append("text").attr("x", 20).attr("y", 13).text(text);
    left += 20 + textWidth(text) + 20;
  });
  return top + 28;
}

function separationSentence(subspaces, dimensions) {
  const part = (points) => fixed(separation(points, subspaces.label, subspaces.classes.length, dimensions), 2);
  return `Class centres of ${subspaces.classes.join(", ")} lie ${part(subspaces.raw)} times the spread of a class apart in raw features and ${part(subspaces.mapped)} times when mapped`;
}

defineFigure({
  id: "subspaces-2d",
  section: "geometry",
  title: "Subspaces of three classes, flat",
  missing: "No map of class subspaces: it needs three classes and a model that predicts class vectors.",
  data: subspaceData,
  sentence: (subspaces) => `${separationSentence(subspaces, 2)} (first two principal coordinates).`,
  table: subspaceTable,

  draw(frame, subspaces, run) {
    const panel = Math.min(440, Math.max(320, frame.width * 0.44));
    const least = 320;
    const probe = d3.create("svg");
    const legend = subspaceLegend(probe, subspaces, frame.width);
    const { boxes, height } = layoutPanels(2, frame.width, panel, least);
    const svg = frame.svg(height + legend);
    subspaceLegend(svg, subspaces, frame.width);
    const rows = [["Raw features", subspaces.raw], [mappedTitle(run), subspaces.mapped]].map(([title, points], i) => {
      const box = { ...boxes[i], y: boxes[i].y + legend };
      const top = box.y + drawPanelTitle(svg, box, title);
      const plot = { left: box.x + MARGIN.left, right: box.x + box.width - 12, top: top + 26, bottom: box.y + box.height - MARGIN.bottom };
      const x = d3.scaleLinear().domain(padded(points.map((p) => p[0]))).range([plot.left, plot.right]);
      const y = d3.scaleLinear().domain(padded(points.map((p) => p[1]))).range([plot.bottom, plot.top]);
      drawAxisLeft(svg, y, plot.left, plot.right - plot.left, "Second coordinate");
      drawAxisBottom(svg, x, plot.bottom, "First coordinate");
      return points.map((p, j) => {
        const label = subspaces.label[j];
        svg.append("path").attr("class", `mark point tone-${SUBSPACE_TONES[label]} solid`).attr("d", symbolPath(SUBSPACE_SHAPES[label], 34))
          .attr("transform", `translate(${x(p[0])},${y(p[1])})`);
        return { x: x(p[0]), y: y(p[1]), tip: { title: subspaces.classes[label], rows: [["x", compact(p[0])], ["y", compact(p[1])]] } };
      });
    });
    frame.marks(rows, { radius: 14 });
  },
});

defineFigure({
  id: "subspaces-3d",
  section: "geometry",
  title: "Subspaces of three classes, in space",
  quietFocus: true,
  hint: "Drag or use the arrow keys to turn the map, n and p step through the samples, 0 turns it back, Escape closes the tooltip.",
  data: subspaceData,
  sentence: (subspaces) => `${separationSentence(subspaces, 3)} (three principal coordinates); near points are larger and stronger.`,
  table: subspaceTable,

  controls(frame) {
    Object.assign(frame.state, { yaw: 0.6, pitch: 0.45 });
    const button = (text, label, yaw, pitch) => element("button", { type: "button", "aria-label": label, onclick: () => turn(frame, yaw, pitch) }, text);
    frame.controls.append(element("span", { class: "control button-row" }, button("←", "Turn left", -0.2, 0), button("→", "Turn right", 0.2, 0),
      button("↑", "Turn up", 0, 0.2), button("↓", "Turn down", 0, -0.2)), element("span", { class: "note" }, "or drag, or arrow keys"));
    frame.chart.classList.add("turns");
  },

  draw(frame, subspaces, run) {
    const probe = d3.create("svg");
    const legend = subspaceLegend(probe, subspaces, frame.width);
    const { boxes, height } = layoutPanels(2, frame.width, Math.min(440, Math.max(320, frame.width * 0.44)), 320);
    const svg = frame.svg(height + legend);
    subspaceLegend(svg, subspaces, frame.width);
    const rows = [["Raw features", subspaces.raw], [mappedTitle(run), subspaces.mapped]].map(([title, points], i) =>
      drawSpace(svg, { ...boxes[i], y: boxes[i].y + legend }, title, points, subspaces, frame.state));
    frame.marks(rows, { radius: 14 });
  },

  onDrag: (frame, dx, dy) => turn(frame, dx * 0.01, dy * 0.01),

  onKey(frame, event) {
    const turns = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, -0.12], ArrowDown: [0, 0.12] };
    if (event.key in turns) turn(frame, ...turns[event.key]);
    else if (event.key === "n") frame.step(1, 0);
    else if (event.key === "p") frame.step(-1, 0);
    else if (event.key === "0") turn(frame, 0.6 - frame.state.yaw, 0.45 - frame.state.pitch);
    else return false;
    return true;
  },
});

function turn(frame, yaw, pitch) {
  frame.state.yaw += yaw;
  frame.state.pitch = Math.min(Math.PI / 2, Math.max(-Math.PI / 2, frame.state.pitch + pitch));
  frame.redraw();
}

// Turns about the vertical axis, then towards the viewer: [across, up, near].
function rotate([x, y, z], { yaw, pitch }) {
  const across = x * Math.cos(yaw) + y * Math.sin(yaw);
  const deep = -x * Math.sin(yaw) + y * Math.cos(yaw);
  return [across, z * Math.cos(pitch) + deep * Math.sin(pitch), z * Math.sin(pitch) - deep * Math.cos(pitch)];
}

function drawSpace(svg, box, title, points, subspaces, state) {
  const top = box.y + drawPanelTitle(svg, box, title);
  svg.append("rect").attr("class", "plot-frame").attr("x", box.x).attr("y", top).attr("width", box.width).attr("height", box.y + box.height - top);
  const middle = d3.range(3).map((d) => (d3.extent(points, (p) => p[d])[0] + d3.extent(points, (p) => p[d])[1]) / 2);
  const moved = points.map((p) => p.map((value, d) => value - middle[d]));
  const reach = d3.max(moved, (p) => Math.hypot(...p)) || 1;
  const half = Math.min(box.width, box.y + box.height - top) / 2 - 16;
  const screen = ([across, up]) => [box.x + box.width / 2 + (across / reach) * half, (top + box.y + box.height) / 2 - (up / reach) * half];
  const origin = screen([0, 0]);
  ["x", "y", "z"].forEach((name, d) => {
    const tip = rotate([0, 1, 2].map((e) => (e === d ? reach * 0.95 : 0)), state);
    const end = screen(tip);
    svg.append("line").attr("class", "axis-line").attr("x1", origin[0]).attr("y1", origin[1]).attr("x2", end[0]).attr("y2", end[1]);
    svg.append("text").attr("class", "muted halo middle").attr("x", end[0]).attr("y", end[1] - 4).text(name);
  });
  const turned = moved.map((p) => rotate(p, state));
  const marks = turned.map((p, i) => {
    const [x, y] = screen(p);
    return { x, y, tip: { title: subspaces.classes[subspaces.label[i]], rows: ["x", "y", "z"].map((name, d) => [name, compact(points[i][d])]) } };
  });
  const layer = svg.append("g");
  for (const i of d3.range(points.length).sort((a, b) => turned[a][2] - turned[b][2])) {
    const near = (turned[i][2] / reach + 1) / 2;
    const label = subspaces.label[i];
    layer.append("path").attr("class", `mark point tone-${SUBSPACE_TONES[label]} solid`).attr("d", symbolPath(SUBSPACE_SHAPES[label], 16 + 50 * near))
      .attr("transform", `translate(${marks[i].x.toFixed(1)},${marks[i].y.toFixed(1)})`).style("opacity", (0.35 + 0.65 * near).toFixed(2));
  }
  return marks;
}
