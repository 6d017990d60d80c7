// Confusion matrix on a canvas, with zoom; truth in rows, prediction in columns.

defineFigure({
  id: "confusion",
  section: "accuracy",
  title: "Confusion matrix",
  kind: "canvas",
  quietFocus: true,
  hint: "Arrow keys move a cursor over the cells, plus and minus zoom, 0 shows the whole matrix, Escape closes the tooltip. While the chart has the focus the mouse wheel zooms and dragging moves it.",
  missing: "No confusion counts in this run.",
  data(run) {
    const { classes, unseen, counts } = run.confusion;
    if (!classes.length || !counts.length) return null;
    const totals = new Array(classes.length).fill(0);
    counts.forEach(([row, , number]) => {
      totals[row] += number;
    });
    const cells = new Map(counts.map(([row, column, number]) => [row * classes.length + column, number]));
    const largest = counts.filter(([row, column]) => row !== column).sort((a, b) => b[2] - a[2]).slice(0, 10);
    return { classes, unseen, counts, totals, cells, largest };
  },

  sentence({ classes, counts, largest, totals }) {
    const right = d3.sum(counts.filter(([row, column]) => row === column), (cell) => cell[2]);
    const all = d3.sum(totals);
    const worst = largest.length ? `; most often ${classes[largest[0][0]]} is taken for ${classes[largest[0][1]]} (${count(largest[0][2], "time")})` : "";
    return `${right} of ${count(all, "sample")} lie on the diagonal${worst}.`;
  },

  table: ({ classes, counts }) => ({
    columns: ["truth", "predicted", "count"],
    rows: counts.map(([row, column, number]) => [classes[row], classes[column], number]),
  }),

  controls(frame, { classes }) {
    frame.state.view = { x: 0, y: 0, span: classes.length };
    frame.state.cell = null;
    const size = classes.length;
    const button = (text, label, action) => element("button", { type: "button", "aria-label": label, onclick: action }, text);
    frame.controls.append(element("span", { class: "control button-row" },
      button("+", "Zoom in", () => zoom(frame, 0.5)),
      button("−", "Zoom out", () => zoom(frame, 2)),
      button("Whole", "Show the whole matrix", () => zoom(frame, size))),
      element("span", { class: "note" }, "or keys + − 0; once clicked, wheel and drag"));
  },

  beside(frame, data) {
    if (!data.largest.length) return element("p", { class: "note" }, "No sample was confused with another class.");
    const items = data.largest.map(([row, column, number]) => element("li", {},
      element("button", { type: "button", class: "link", onclick: () => goTo(frame, row, column) },
        `${data.classes[row]} → ${data.classes[column]}`),
      ` ${number} of ${data.totals[row]}`));
    return element("div", { class: "aside" }, element("h4", {}, "Largest confusions"), element("ol", {}, ...items));
  },

  draw(frame, data) {
    const { classes, unseen, totals } = data;
    const { view } = frame.state;
    const width = Math.min(frame.width, 720);
    const named = (width * 0.7) / view.span >= 13;
    const gutter = named ? Math.min(d3.max(classes, (name) => textWidth(name)) + 12, Math.max(90, width * 0.26)) : 26;
    const side = width - gutter - 8;
    const top = gutter + 10;
    const height = top + side + 44;
    const context = frame.canvas(height, width);
    const cell = side / view.span;
    const geometry = { left: gutter, top, side, cell };
    frame.state.geometry = geometry;
    const color = heatColor();
    context.save();
    context.beginPath();
    context.rect(gutter, top, side, side);
    context.clip();
    context.fillStyle = Theme.color("well");
    context.fillRect(gutter, top, side, side);
    // Weak cells first, so that strong ones stay on top where a cell is smaller than a pixel.
    const drawn = data.counts.filter(([row, column]) => row + 1 > view.y && row < view.y + view.span && column + 1 > view.x && column < view.x + view.span)
      .map(([row, column, number]) => [row, column, number / totals[row]]).sort((a, b) => a[2] - b[2]);
    const pixel = Math.max(cell - (cell > 8 ? 1 : 0), 1.2);
    for (const [row, column, share] of drawn) {
      context.fillStyle = color(Math.sqrt(share));
      context.fillRect(gutter + (column - view.x) * cell, top + (row - view.y) * cell, pixel, pixel);
    }
    context.restore();
    drawClassEdges(context, classes, unseen, view, geometry, named);
    context.fillStyle = Theme.color("ink");
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText("rows: truth, columns: prediction", gutter, top + side + 14);
    drawHeatLegend(context, gutter, top + side + 28, side, (share) => color(Math.sqrt(share)), "Share of row", "100 %");
    const tip = (row, column) => {
      const number = data.cells.get(row * classes.length + column) || 0;
      const kind = (index) => (unseen[index] ? "unseen" : "seen");
      return { title: row === column ? `${classes[row]}, right` : `${classes[row]} taken for ${classes[column]}`,
        rows: [["Count", `${number} of ${totals[row]}`], ["Truth", `${classes[row]} (${kind(row)})`], ["Predicted", `${classes[column]} (${kind(column)})`]] };
    };
    frame.state.mark = (row, column) => ({ row, column, x: gutter + (column + 0.5 - view.x) * cell, y: top + (row + 0.5 - view.y) * cell,
      width: Math.max(cell, 8), height: Math.max(cell, 8), tip: tip(row, column) });
    frame.marks([], { find(px, py) {
      const column = Math.floor((px - gutter) / cell + view.x);
      const row = Math.floor((py - top) / cell + view.y);
      const inside = px >= gutter && px < gutter + side && py >= top && py < top + side;
      return inside && row >= 0 && column >= 0 && row < classes.length && column < classes.length ? frame.state.mark(row, column) : null;
    } });
  },

  onKey(frame, event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (event.key === "+" || event.key === "=") zoom(frame, 0.5);
    else if (event.key === "-" || event.key === "_") zoom(frame, 2);
    else if (event.key === "0") zoom(frame, frame.data.classes.length);
    else if (event.key in moves) {
      const { view, cell } = frame.state;
      const last = frame.data.classes.length - 1;
      const next = cell ? cell.map((at, i) => Math.min(last, Math.max(0, at + moves[event.key][i])))
        : [Math.floor(view.y + view.span / 2), Math.floor(view.x + view.span / 2)].map((at) => Math.min(last, at));
      showCell(frame, next[0], next[1]);
    } else return false;
    return true;
  },

  onWheel: (frame, delta, x, y) => zoom(frame, delta < 0 ? 0.8 : 1.25, x, y),

  onDrag(frame, dx, dy) {
    const { view, geometry } = frame.state;
    setView(frame, view.x - dx / geometry.cell, view.y - dy / geometry.cell, view.span);
  },
});

// Labels where there is room, else a strip that tells seen from unseen classes.
function drawClassEdges(context, classes, unseen, view, { left, top, side, cell }, named) {
  context.save();
  const first = Math.max(0, Math.floor(Math.min(view.x, view.y)));
  for (let i = first; i < classes.length; i += 1) {
    const x = left + (i - view.x) * cell;
    const y = top + (i - view.y) * cell;
    context.fillStyle = Theme.color(unseen[i] ? "vermillion" : "blue");
    if (y + cell > top && y < top + side) {
      const from = Math.max(top, y);
      context.fillRect(left - 6, from, 4, Math.max(Math.min(y + cell, top + side) - from - (cell > 4 ? 1 : 0), 0.5));
    }
    if (x + cell > left && x < left + side) {
      const from = Math.max(left, x);
      context.fillRect(from, top - 6, Math.max(Math.min(x + cell, left + side) - from - (cell > 4 ? 1 : 0), 0.5), 4);
    }
    if (!named) continue;
    context.fillStyle = Theme.color("ink");
    context.textBaseline = "middle";
    const name = ellipsis(classes[i], left - 10);
    if (y + cell / 2 > top && y + cell / 2 < top + side) {
      context.textAlign = "right";
      context.fillText(name, left - 9, y + cell / 2);
    }
    if (x + cell / 2 > left && x + cell / 2 < left + side) {
      context.save();
      context.translate(x + cell / 2, top - 9);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(name, 0, 0);
      context.restore();
    }
  }
  if (!named) {
    context.textBaseline = "bottom";
    context.textAlign = "left";
    let x = left;
    for (const [text, name, present] of [["seen", "blue", unseen.some((one) => !one)], ["unseen", "vermillion", unseen.some((one) => one)]]) {
      if (!present) continue;
      context.fillStyle = Theme.color(name);
      context.fillRect(x, top - 24, 12, 8);
      context.fillStyle = Theme.color("ink");
      context.fillText(text, x + 17, top - 12);
      x += textWidth(text) + 34;
    }
  }
  context.restore();
}

function setView(frame, x, y, span) {
  const size = frame.data.classes.length;
  const clamped = Math.min(size, Math.max(Math.min(size, 8), span));
  const clamp = (start) => Math.min(size - clamped, Math.max(0, start));
  frame.state.view = { x: clamp(x), y: clamp(y), span: clamped };
  frame.redraw();
}

// Keeps the point under (px, py), by default the middle, in its place.
function zoom(frame, factor, px = null, py = null) {
  const { view, geometry } = frame.state;
  const fx = px === null ? 0.5 : Math.min(1, Math.max(0, (px - geometry.left) / geometry.side));
  const fy = py === null ? 0.5 : Math.min(1, Math.max(0, (py - geometry.top) / geometry.side));
  const span = Math.min(frame.data.classes.length, Math.max(Math.min(frame.data.classes.length, 8), view.span * factor));
  setView(frame, view.x + fx * (view.span - span), view.y + fy * (view.span - span), span);
}

function showCell(frame, row, column) {
  const { view } = frame.state;
  const inside = (at, start) => at >= start && at + 1 <= start + view.span;
  if (!inside(row, view.y) || !inside(column, view.x)) {
    setView(frame, inside(column, view.x) ? view.x : column - view.span / 2, inside(row, view.y) ? view.y : row - view.span / 2, view.span);
  }
  frame.state.cell = [row, column];
  frame.showMark(frame.state.mark(row, column), true);
}

function goTo(frame, row, column) {
  const span = Math.min(frame.data.classes.length, 24);
  setView(frame, column - span / 2, row - span / 2, span);
  frame.chart.focus({ preventScroll: true });
  showCell(frame, row, column);
}
