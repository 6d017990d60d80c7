// Seen against unseen accuracy as the calibration moves: the curve whose area is AUSUC, and U, S, H over gamma.

const OTHER_DASHES = ["8 3", "2 2", "8 3 2 3", "4 4", "12 3", "1 4", "12 3 2 3"];

const harmonic = (u, s) => (u + s > 0 ? (2 * u * s) / (u + s) : 0);

defineFigure({
  id: "tradeoff",
  section: "accuracy",
  title: "Trade-off between unseen and seen classes",
  missing: "No trade-off curve in this run: it needs a generalised evaluation.",
  data: (run) => (run.curve && run.curve.length ? run.curve : null),

  sentence(curve, run) {
    const best = curve[d3.scan(curve, (a, b) => harmonic(b[1], b[2]) - harmonic(a[1], a[2]))];
    const { summary } = run;
    const found = `Best harmonic mean ${percent(harmonic(best[1], best[2]))} at γ ${compact(best[0])}`;
    const chosen = isNumber(summary.h) && isNumber(summary.gamma) ? `; the chosen γ ${compact(summary.gamma)} gives ${percent(summary.h)}` : "";
    const area = isNumber(summary.ausuc) ? `; area under the curve ${percent(summary.ausuc)}` : "";
    return `${found}${chosen}${area}.`;
  },

  table: (curve) => ({
    columns: ["gamma", "u", "s", "h"],
    rows: curve.map(([gamma, u, s]) => [gamma, u, s, harmonic(u, s)]),
  }),

  draw(frame, curve, run) {
    const { summary } = run;
    const chosen = isNumber(summary.gamma) && isNumber(summary.u) ? [summary.gamma, summary.u, summary.s] : null;
    const tip = ([gamma, u, s], title) => ({ title, rows: [["γ", compact(gamma)], ["U", percent(u)], ["S", percent(s)], ["H", percent(harmonic(u, s))]] });
    const { boxes, height } = layoutPanels(2, frame.width, 400);
    const svg = frame.svg(height);
    const others = frame.report.runs.filter((other) => other !== run && other.curve && other.curve.length);
    const top = Math.min(100, 1.12 * d3.max([run, ...others], (one) => d3.max(one.curve, (p) => p[2])));
    const side = Math.min(100, 1.12 * d3.max([run, ...others], (one) => d3.max(one.curve, (p) => p[1])));

    const planeRows = drawLines(svg, boxes[0], {
      title: "S against U, area shaded",
      x: { label: "U: unseen accuracy, %", domain: [0, side] },
      y: { label: "S: seen accuracy, %", domain: [0, top] },
      series: [{ run, tone: "blue", area: true }, ...others.map((other, i) => ({ run: other, tone: "grey", dash: OTHER_DASHES[i] }))]
        .map((series) => ({ ...series, name: series.run.name,
          points: series.run.curve.map((p) => ({ x: p[1], y: p[2], tip: tip(p, others.length ? series.run.name : null) })) })),
      before: (g, x, y) => harmonicLines(side, top).forEach(({ points }) => {
        g.append("path").attr("class", "contour").attr("d", d3.line().x((p) => x(p[0])).y((p) => y(p[1]))(points));
      }),
      after(g, x, y, plot) {
        const curves = [run, ...others].flatMap((one) => densePoints(one.curve.map((p) => [x(p[1]), y(p[2])])));
        const taken = chosen ? [drawChosen(g, x(chosen[1]), y(chosen[2]), `H ${percent(harmonic(chosen[1], chosen[2]))}`, plot)] : [];
        for (const { h, points } of harmonicLines(side, top)) {
          const label = `H ${h}`;
          const box = freePlace(densePoints(points.map((p) => [x(p[0]), y(p[1])])), textWidth(label), plot, curves, taken);
          if (!box) continue;
          taken.push(box);
          g.append("text").attr("class", "contour-label muted halo middle").attr("x", (box.left + box.right) / 2).attr("y", box.bottom - 3).text(label);
        }
      },
    });
    const gammas = curve.map((p) => p[0]);
    const over = (name, tone, dash, value) => ({ name, tone, dash, points: curve.map((p) => ({ x: p[0], y: value(p), tip: tip(p, name) })) });
    const gammaRows = drawLines(svg, boxes[1], {
      title: "Over the calibration γ",
      x: { label: "γ, subtracted from the scores of seen classes", domain: d3.extent(gammas) },
      y: { label: "Accuracy, %", domain: [0, Math.max(top, side)] },
      series: [over("U", "vermillion", "6 3", (p) => p[1]), over("S", "blue", "2 3", (p) => p[2]), over("H", "green", null, (p) => harmonic(p[1], p[2]))],
      after(g, x, y, plot) {
        if (!chosen || chosen[0] < gammas[0] || chosen[0] > gammas[gammas.length - 1]) return;
        g.append("line").attr("class", "guide").attr("x1", x(chosen[0])).attr("x2", x(chosen[0])).attr("y1", plot.top).attr("y2", plot.bottom);
        drawChosen(g, x(chosen[0]), y(harmonic(chosen[1], chosen[2])), "chosen", plot);
      },
    });
    frame.marks([...planeRows, ...gammaRows]);
  },
});

const LABEL_HEIGHT = 14;

// The chosen point with its label, right above it, or left below where there is no room. Returns the label's box.
function drawChosen(g, x, y, label, plot) {
  const width = textWidth(label, 600);
  const fits = x + 10 + width <= plot.right + MARGIN.right;
  const at = fits ? { x: x + 10, y: y - 8 } : { x: x - 10, y: y + 18 };
  g.append("circle").attr("class", "chosen mark").attr("cx", x).attr("cy", y).attr("r", 5.5);
  g.append("text").attr("class", `strong halo ${fits ? "" : "end"}`).attr("x", at.x).attr("y", at.y).text(label);
  const left = fits ? at.x : at.x - width;
  return { left, right: left + width, top: at.y - LABEL_HEIGHT + 3, bottom: at.y + 3 };
}

// Contours of equal harmonic mean, every 20 points: [{h, points: [[u, s]]}].
function harmonicLines(side, top) {
  return [20, 40, 60, 80].map((h) => ({ h, points: d3.range(h / 2 + 0.5, side, 0.5)
    .map((u) => [u, (h * u) / (2 * u - h)]).filter((p) => p[1] > 0 && p[1] <= top) })).filter(({ points }) => points.length >= 4);
}

// The points of a line with others between, at most 4 pixels apart.
function densePoints(points) {
  return points.flatMap((point, i) => {
    if (i === 0) return [point];
    const before = points[i - 1];
    const steps = Math.max(1, Math.ceil(Math.hypot(point[0] - before[0], point[1] - before[1]) / 4));
    return d3.range(1, steps + 1).map((step) => [0, 1].map((axis) => before[axis] + ((point[axis] - before[axis]) * step) / steps));
  });
}

// The last box for a label on `line` that keeps away from the curves and the boxes taken, as far as 12 pixels; null:
// there is none that they do not touch.
function freePlace(line, width, plot, curves, taken) {
  const gap = (box, [x, y]) => Math.hypot(Math.max(box.left - x, 0, x - box.right), Math.max(box.top - y, 0, y - box.bottom));
  const corners = taken.flatMap((box) => densePoints([[box.left, box.top], [box.right, box.top], [box.right, box.bottom], [box.left, box.bottom]]));
  let best = null;
  for (const [x, y] of line) {
    const box = { left: x - width / 2, right: x + width / 2, top: y - LABEL_HEIGHT / 2, bottom: y + LABEL_HEIGHT / 2 };
    if (box.left < plot.left || box.right > plot.right || box.top < plot.top || box.bottom > plot.bottom) continue;
    const room = Math.min(12, d3.min([...curves, ...corners], (point) => gap(box, point)) ?? 12);
    if (room > 2 && (!best || room >= best.room)) best = { ...box, room };
  }
  return best;
}
