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
    const area = isNumber(summary.ausuc) ? `; area under the curve ${fixed(summary.ausuc, 3)}` : "";
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
      before: (g, x, y) => drawHarmonicLines(g, x, y, side, top),
      after(g, x, y) {
        if (chosen) drawChosen(g, x(chosen[1]), y(chosen[2]), `H ${percent(harmonic(chosen[1], chosen[2]))}`);
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
        drawChosen(g, x(chosen[0]), y(harmonic(chosen[1], chosen[2])), "chosen");
      },
    });
    frame.marks([...planeRows, ...gammaRows]);
  },
});

function drawChosen(g, x, y, label) {
  g.append("circle").attr("class", "chosen mark").attr("cx", x).attr("cy", y).attr("r", 5.5);
  g.append("text").attr("class", "strong halo").attr("x", x + 10).attr("y", y - 8).text(label);
}

// Contours of equal harmonic mean, every 20 points.
function drawHarmonicLines(g, x, y, side, top) {
  for (const h of [20, 40, 60, 80]) {
    const points = d3.range(h / 2 + 0.5, side, 0.5).map((u) => [u, (h * u) / (2 * u - h)]).filter((p) => p[1] > 0 && p[1] <= top);
    if (points.length < 4) continue;
    g.append("path").attr("class", "contour").attr("d", d3.line().x((p) => x(p[0])).y((p) => y(p[1]))(points));
    const last = points[points.length - 1];
    g.append("text").attr("class", "muted halo end").attr("x", x(last[0])).attr("y", y(last[1]) - 4).text(`H ${h}`);
  }
}
