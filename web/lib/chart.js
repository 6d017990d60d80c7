// Panels, axes, legends and the three charts most figures are made of: lines, rows and heat maps.

const MARGIN = { left: 50, right: 14, bottom: 44 };

// Splits the width into equal columns where each gets at least `least` pixels, else stacks them.
// Returns [{x, y, width, height}] and the total height.
function layoutPanels(count, width, height, least = 330, gap = 28) {
  const columns = Math.max(1, Math.min(count, Math.floor((width + gap) / (least + gap))));
  const panelWidth = (width - gap * (columns - 1)) / columns;
  const boxes = d3.range(count).map((i) => ({
    x: (i % columns) * (panelWidth + gap), y: Math.floor(i / columns) * (height + gap), width: panelWidth, height,
  }));
  return { boxes, height: Math.ceil(count / columns) * (height + gap) - gap };
}

// A legend line: items are {name, tone, dash?, mark?: "line" | "dot" | "ring" | "bar" | "gap"}. Returns the height it took.
function drawLegend(root, items, x, y, width) {
  let left = x;
  let top = y;
  for (const item of items) {
    const itemWidth = 30 + textWidth(item.name) + 14;
    if (left > x && left + itemWidth - 14 > x + width) {
      left = x;
      top += 20;
    }
    const g = root.append("g").attr("class", `legend tone-${item.tone}`).attr("transform", `translate(${left},${top})`);
    if (item.mark === "dot" || item.mark === "ring") {
      g.append("circle").attr("class", item.mark).attr("cx", 14).attr("cy", 8).attr("r", 4.5);
    } else if (item.mark === "bar" || item.mark === "gap") {
      g.append("rect").attr("class", item.mark).attr("x", 6).attr("y", 3).attr("width", 16).attr("height", 10);
    } else {
      g.append("line").attr("class", "line").attr("x1", 2).attr("x2", 24).attr("y1", 8).attr("y2", 8)
        .attr("stroke-dasharray", item.dash || null);
    }
    g.append("text").attr("x", 30).attr("y", 12).text(item.name);
    left += itemWidth;
  }
  return top - y + 20;
}

function drawPanelTitle(root, box, title) {
  if (!title) return 0;
  root.append("text").attr("class", "panel-title").attr("x", box.x).attr("y", box.y + 13).text(ellipsis(title, box.width));
  return 24;
}

function drawAxisBottom(root, scale, y, label, { ticks = 6, format = null, grid = null } = {}) {
  const [left, right] = d3.extent(scale.range());
  const g = root.append("g").attr("class", "axis").attr("transform", `translate(0,${y})`);
  g.append("line").attr("class", "axis-line").attr("x1", left).attr("x2", right);
  const write = format || compact;
  for (const value of tickValues(scale, Math.min(ticks, Math.max(2, Math.floor((right - left) / 56))))) {
    const x = scale(value);
    if (grid) g.append("line").attr("class", "grid").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", -grid);
    g.append("line").attr("class", "axis-line").attr("x1", x).attr("x2", x).attr("y1", 0).attr("y2", 5);
    g.append("text").attr("x", x).attr("y", 18).attr("class", "middle").text(write(value));
  }
  if (label) g.append("text").attr("class", "axis-label middle").attr("x", (left + right) / 2).attr("y", 37).text(label);
  return g;
}

function drawAxisLeft(root, scale, x, width, label, { ticks = 5, format = null } = {}) {
  const [top, bottom] = d3.extent(scale.range());
  const g = root.append("g").attr("class", "axis").attr("transform", `translate(${x},0)`);
  const write = format || compact;
  for (const value of tickValues(scale, ticks)) {
    const y = scale(value);
    g.append("line").attr("class", "grid").attr("x1", 0).attr("x2", width).attr("y1", y).attr("y2", y);
    g.append("text").attr("class", "end").attr("x", -8).attr("y", y + 4).text(write(value));
  }
  if (label) g.append("text").attr("class", "axis-label").attr("x", -MARGIN.left).attr("y", top - 12).text(label);
  return { top, bottom };
}

// Log scales of D3 give a tick per digit; powers of ten are enough, thinned to `ticks`.
function tickValues(scale, ticks) {
  if (!scale.base) return scale.ticks(ticks);
  const [low, high] = scale.domain().map((value) => Math.log10(value));
  const step = Math.max(1, Math.ceil((high - low) / ticks));
  const values = d3.range(Math.ceil(low - 1e-9), high + 1e-9, step).map((power) => 10 ** power);
  return values.length > 1 ? values : scale.domain();
}

// Axis labels for counts: nothing between whole numbers.
const wholeNumber = (value) => (Number.isInteger(value) ? compact(value) : "");

// A domain with air around the data.
function padded(values, share = 0.06) {
  const [low, high] = d3.extent(values.filter(isNumber));
  if (low === undefined) return [0, 1];
  if (low === high) return [low - (Math.abs(low) || 1) * 0.05, high + (Math.abs(high) || 1) * 0.05];
  return [low - (high - low) * share, high + (high - low) * share];
}

// Lines in a panel. spec: {title, legend = true, x, y, series, before(g, x, y, plot)?, after(...)?}
//   x, y    {label, domain, log?, ticks?, format?}
//   series  [{name, tone, dash?, points: [{x, y, sd?, tip}], dots?: "dot" | "ring", area?, edges?: bin edges for steps}]
// Returns the rows of marks.
function drawLines(root, box, spec) {
  let top = box.y + drawPanelTitle(root, box, spec.title);
  if (spec.legend !== false && spec.series.length > 1) top += drawLegend(root, spec.series, box.x, top, box.width) + 4;
  const plot = { left: box.x + MARGIN.left, right: box.x + box.width - MARGIN.right, top: top + 26,
    bottom: box.y + box.height - MARGIN.bottom };
  const scale = (axis, range) => (axis.log ? d3.scaleLog() : d3.scaleLinear()).domain(axis.domain).range(range);
  const x = scale(spec.x, [plot.left, plot.right]);
  const y = scale(spec.y, [plot.bottom, plot.top]);
  drawAxisLeft(root, y, plot.left, plot.right - plot.left, spec.y.label, spec.y);
  drawAxisBottom(root, x, plot.bottom, spec.x.label, spec.x);
  const g = root.append("g");
  if (spec.before) spec.before(g, x, y, plot);
  const rows = spec.series.map((series) => {
    const layer = g.append("g").attr("class", `tone-${series.tone}`);
    const points = series.points.filter((point) => isNumber(point.y));
    if (series.edges) drawSteps(layer, series, x, y, plot.bottom);
    else {
      if (series.area) {
        layer.append("path").attr("class", "area").attr("d",
          d3.area().x((p) => x(p.x)).y0(plot.bottom).y1((p) => y(p.y))(points));
      }
      layer.append("path").attr("class", "line").attr("stroke-dasharray", series.dash || null)
        .attr("d", d3.line().x((p) => x(p.x)).y((p) => y(p.y))(points));
    }
    for (const point of points) {
      if (isNumber(point.sd)) {
        layer.append("line").attr("class", "whisker").attr("x1", x(point.x)).attr("x2", x(point.x))
          .attr("y1", y(point.y - point.sd)).attr("y2", y(point.y + point.sd));
      }
      if (series.dots) {
        layer.append("circle").attr("class", `${series.dots} mark`).attr("cx", x(point.x)).attr("cy", y(point.y)).attr("r", 4);
      }
    }
    return points.map((point) => ({ x: x(point.x), y: y(point.y), tip: point.tip }));
  });
  if (spec.after) spec.after(g, x, y, plot);
  return rows;
}

function drawSteps(layer, series, x, y, bottom) {
  const outline = [];
  series.points.forEach((point, i) => {
    outline.push([x(series.edges[i]), y(point.y)], [x(series.edges[i + 1]), y(point.y)]);
  });
  const first = x(series.edges[0]);
  const last = x(series.edges[series.points.length]);
  const path = `M${first},${bottom}L${outline.map((p) => p.join(",")).join("L")}L${last},${bottom}`;
  layer.append("path").attr("class", "area").attr("d", `${path}Z`);
  layer.append("path").attr("class", "line").attr("stroke-dasharray", series.dash || null).attr("d", path);
}

// Labelled rows with dots (± sd) or bars on one shared axis at the top, which stays in view when the box scrolls.
//   rows    [{label, note?, values: [{value, sd?, tone, kind: "dot" | "ring" | "bar", tip}]}]
//   spec    {domain, label, zero?: where bars start, legend?: items, rowHeight?}
function drawRows(frame, rows, { domain, label, zero = 0, legend = [], rowHeight = 22, format = null }) {
  const width = frame.width;
  const longest = d3.max(rows, (row) => textWidth(row.label, row.strong ? 600 : 400)) || 0;
  const left = Math.min(longest + 14, Math.max(110, width * 0.38));
  const right = width - 16;
  const x = d3.scaleLinear().domain(domain).range([left, right]).clamp(true);
  const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "g"));
  const legendHeight = legend.length ? drawLegend(svg, legend, 0, 0, width) + 6 : 0;
  const top = legendHeight + 44;
  const height = top + rows.length * rowHeight + 8;
  const chart = frame.svg(height);
  const body = chart.append("g");
  for (const value of x.ticks(5)) {
    body.append("line").attr("class", "grid").attr("x1", x(value)).attr("x2", x(value)).attr("y1", top).attr("y2", height);
  }
  const marks = rows.map((row, i) => {
    const y = top + (i + 0.5) * rowHeight;
    body.append("line").attr("class", "row-line").attr("x1", left).attr("x2", right).attr("y1", y).attr("y2", y);
    body.append("text").attr("class", row.strong ? "end strong" : "end").attr("x", left - 10).attr("y", y + 4)
      .text(ellipsis(row.label, left - 12, row.strong ? 600 : 400));
    return row.values.filter((value) => isNumber(value.value)).map((value) => {
      const g = body.append("g").attr("class", `tone-${value.tone}`);
      const at = x(value.value);
      if (value.kind === "bar") {
        g.append("rect").attr("class", "bar mark").attr("x", Math.min(at, x(zero))).attr("width", Math.max(1, Math.abs(at - x(zero))))
          .attr("y", y - rowHeight * 0.32).attr("height", rowHeight * 0.64);
      } else {
        if (isNumber(value.sd)) {
          g.append("line").attr("class", "whisker").attr("y1", y).attr("y2", y)
            .attr("x1", x(value.value - value.sd)).attr("x2", x(value.value + value.sd));
        }
        g.append("circle").attr("class", `${value.kind} mark`).attr("cx", at).attr("cy", y).attr("r", 4.5);
      }
      return { x: at, y, tip: value.tip };
    });
  }).filter((row) => row.length);
  const head = chart.append("g");
  head.append("rect").attr("class", "paper").attr("width", width).attr("height", top);
  head.append(() => svg.node());
  const axis = head.append("g").attr("class", "axis");
  const wide = textWidth(label) > right - left;
  axis.append("text").attr("class", `axis-label ${wide ? "end" : "middle"}`).attr("x", wide ? right : (left + right) / 2).attr("y", top - 30).text(label);
  for (const value of x.ticks(5)) {
    axis.append("text").attr("class", "middle").attr("x", x(value)).attr("y", top - 10).text(format ? format(value) : compact(value));
  }
  axis.append("line").attr("class", "axis-line").attr("x1", left).attr("x2", right).attr("y1", top).attr("y2", top);
  const follow = () => head.attr("transform", `translate(0,${frame.chart.scrollTop})`);
  frame.chart.onscroll = () => {
    follow();
    if (frame.byKey) Tooltip.place();
    else frame.hideMark();
  };
  follow();
  // Rows are stepped through with up and down; left and right change the value within a row.
  const columns = d3.range(d3.max(marks, (row) => row.length) || 0)
    .map((j) => marks.map((row) => row[j]).filter(Boolean));
  frame.marks(columns, { vertical: true, find: (px, py) => {
    if (py < top + frame.chart.scrollTop) return null;
    const row = marks[d3.scan(marks, (a, b) => Math.abs(a[0].y - py) - Math.abs(b[0].y - py))];
    if (!row || Math.abs(row[0].y - py) > rowHeight) return null;
    return row[d3.scan(row, (a, b) => Math.abs(a.x - px) - Math.abs(b.x - px))];
  } });
}

// Sequential colours for heat maps: one hue, lightness does the telling, from near the paper to the far end.
function heatColor() {
  const dark = Theme.current() === "dark";
  return d3.interpolateRgbBasis(dark ? ["#1d2a36", "#2a5f8a", "#3f9bd6", "#a9dcfa", "#ffffff"] : ["#eaf2f8", "#a5cbe6", "#4b97cb", "#0a5a9c", "#04203f"]);
}

// A colour bar from 0 to `high` on a canvas, at most `room` pixels wide with its words.
function drawHeatLegend(context, x, y, room, color, label, high) {
  const words = `${label}: 0`;
  const start = x + textWidth(words) + 8;
  const width = Math.max(30, Math.min(120, room - (start - x) - textWidth(high) - 14));
  for (let i = 0; i < width; i += 1) {
    context.fillStyle = color(i / (width - 1));
    context.fillRect(start + i, y, 1.5, 10);
  }
  context.fillStyle = Theme.color("muted");
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(words, x, y + 5);
  context.fillText(high, start + width + 6, y + 5);
}
