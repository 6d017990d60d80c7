// How the gates spread the work: each network's share, and the share by class.

defineFigure({
  id: "gate-usage",
  section: "design",
  title: "Use of the networks",
  missing: "No gates: the model is one linear map for every sample.",
  data: (run) => (run.gates && run.gates.usage && run.gates.usage.length ? run.gates : null),

  sentence(gates) {
    const even = gates.open / gates.networks;
    return `The busiest of ${gates.networks} networks is open for ${percent(100 * d3.max(gates.usage))} % of the samples, the idlest for `
      + `${percent(100 * d3.min(gates.usage))} %; even use would be ${percent(100 * even)} %. Entropy ${fixed(gates.entropy, 3)} of 1.`;
  },

  table: (gates) => ({ columns: ["network", "usage"], rows: gates.usage.map((share, i) => [i, share]) }),

  draw(frame, gates) {
    const height = 300;
    const svg = frame.svg(height);
    const order = d3.range(gates.usage.length).sort((a, b) => gates.usage[b] - gates.usage[a]);
    const plot = { left: MARGIN.left, right: frame.width - 14, top: 32, bottom: height - MARGIN.bottom };
    const x = d3.scaleLinear().domain([0, order.length]).range([plot.left, plot.right]);
    const even = gates.open / gates.networks;
    const y = d3.scaleLinear().domain([0, 1.08 * Math.max(d3.max(gates.usage), even)]).range([plot.bottom, plot.top]);
    drawAxisLeft(svg, y, plot.left, plot.right - plot.left, "Share of samples, %", { format: (value) => compact(100 * value) });
    drawAxisBottom(svg, x, plot.bottom, "Networks, busiest first", { format: wholeNumber });
    const bars = svg.append("g").attr("class", "tone-blue");
    const step = (plot.right - plot.left) / order.length;
    const marks = order.map((network, i) => {
      const share = gates.usage[network];
      bars.append("rect").attr("class", "bar mark").attr("x", x(i)).attr("width", Math.max(0.8, step - (step > 3 ? 1 : 0)))
        .attr("y", y(share)).attr("height", plot.bottom - y(share));
      return { x: x(i + 0.5), y: y(share), tip: { title: `Network ${network}`, rows: [["Open for", `${percent(100 * share)} % of samples`], ["Place", `${i + 1} of ${order.length}`]] } };
    });
    svg.append("line").attr("class", "guide").attr("x1", plot.left).attr("x2", plot.right).attr("y1", y(even)).attr("y2", y(even));
    svg.append("text").attr("class", "end halo").attr("x", plot.right).attr("y", y(even) - 5).text("even use");
    frame.marks([marks], { find(px) {
      const i = Math.floor(x.invert(px));
      return marks[i] || null;
    } });
  },
});

defineFigure({
  id: "gate-heat",
  section: "design",
  title: "Networks by class",
  kind: "canvas",
  quietFocus: true,
  hint: "Arrow keys move over the cells, Escape closes the tooltip.",
  missing: (run) => (run.gates ? "No gate usage by class in this run." : null),
  data(run) {
    const table = run.gates && run.gates.by_class;
    if (!table || !table.classes.length || !table.share[0] || !table.share[0].length) return null;
    const usage = run.gates.usage;
    const order = d3.range(table.share[0].length).sort((a, b) => (usage[b] || 0) - (usage[a] || 0));
    return { ...table, order, high: d3.max(table.share, (row) => d3.max(row)) };
  },

  sentence({ classes, share, order }) {
    const spread = d3.mean(order, (network) => d3.deviation(share, (row) => row[network]) || 0);
    return `Each row is a class, each column a network (busiest first); a network's share differs between classes by ${percent(100 * spread)} points (standard deviation, mean over ${order.length} networks and ${count(classes.length, "class", "classes")}).`;
  },

  table: ({ classes, share }) => ({
    columns: ["class", ...share[0].map((_, i) => `network ${i}`)],
    rows: classes.map((name, i) => [name, ...share[i]]),
  }),

  draw(frame, { classes, share, order, high }) {
    const width = frame.width;
    const rowHeight = classes.length <= 64 ? Math.max(13, Math.min(18, 520 / classes.length)) : Math.max(2, 640 / classes.length);
    const named = rowHeight >= 13;
    const left = named ? Math.min(d3.max(classes, (name) => textWidth(name)) + 10, width * 0.3) : 14;
    const side = width - left - 8;
    const top = 8;
    const bottom = top + rowHeight * classes.length;
    const context = frame.canvas(bottom + 56, width);
    const color = heatColor();
    const step = side / order.length;
    classes.forEach((name, i) => {
      order.forEach((network, j) => {
        context.fillStyle = color(high > 0 ? share[i][network] / high : 0);
        context.fillRect(left + j * step, top + i * rowHeight, step + 0.3, rowHeight - (named ? 1 : 0) + (named ? 0 : 0.3));
      });
      if (!named) return;
      context.fillStyle = Theme.color("ink");
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillText(ellipsis(name, left - 10), left - 6, top + (i + 0.5) * rowHeight);
    });
    context.fillStyle = Theme.color("ink");
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText("Networks, busiest first →", left, bottom + 16);
    drawHeatLegend(context, left, bottom + 34, side, color, "Share of samples", `${percent(100 * high)} %`);
    const mark = (i, j) => ({ row: i, column: j, x: left + (j + 0.5) * step, y: top + (i + 0.5) * rowHeight, width: Math.max(step, 8), height: Math.max(rowHeight, 8),
      tip: { title: classes[i], rows: [["Network", String(order[j])], ["Open for", `${percent(100 * share[i][order[j]])} % of its samples`]] } });
    frame.state.mark = mark;
    frame.marks([], { find(px, py) {
      const i = Math.floor((py - top) / rowHeight);
      const j = Math.floor((px - left) / step);
      return i >= 0 && i < classes.length && j >= 0 && j < order.length ? mark(i, j) : null;
    } });
  },

  onKey(frame, event) {
    const moves = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    if (!(event.key in moves)) return false;
    const ends = [frame.data.classes.length - 1, frame.data.order.length - 1];
    const { cell } = frame.state;
    frame.state.cell = cell ? cell.map((at, i) => Math.min(ends[i], Math.max(0, at + moves[event.key][i]))) : [0, 0];
    frame.showMark(frame.state.mark(...frame.state.cell), true);
    return true;
  },
});
