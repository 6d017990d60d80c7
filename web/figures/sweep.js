// Accuracy against sparsity: ZSL and H over the swept option, mean ± standard deviation over seeds.

defineFigure({
  id: "sweep",
  section: "design",
  title: "Option sweep",
  missing: "No sparsity sweep in this run: add one with `parsnets bench --sweep k --out DIR/sweep.json`.",
  data: (run) => (run.sweep && run.sweep.rows.length && run.sweep.rows.every((row) => isNumber(row.value)) ? run.sweep : null),

  sentence(sweep, run) {
    const known = sweep.rows.filter((row) => row.zsl && isNumber(row.zsl.mean));
    if (!known.length) return `${count(sweep.rows.length, "value")} of ${sweep.option}.`;
    const best = known[d3.scan(known, (a, b) => b.zsl.mean - a.zsl.mean)];
    const where = sweep.option === "active" ? `with ${best.value} of ${sweep.networks} networks active` : `at ${sweep.option} ${best.value}`;
    const own = run.gates && sweep.option === "active" && run.gates.networks !== sweep.networks
      ? ` The models of the sweep have ${sweep.networks} networks, this run's model has ${run.gates.networks}.` : "";
    return `Best ZSL accuracy ${meanSd(best.zsl)} ${where}, over ${count(best.seeds, "seed")}.${own}`;
  },

  table: (sweep) => ({
    columns: [sweep.option, "sparsity", "seeds", "zsl mean", "zsl sd", "h mean", "h sd"],
    rows: sweep.rows.map((row) => [row.value, row.sparsity, row.seeds, row.zsl?.mean ?? null, row.zsl?.sd ?? null, row.h?.mean ?? null, row.h?.sd ?? null]),
  }),

  draw(frame, sweep) {
    const series = (key, name, tone, dots, dash) => ({ name, tone, dots, dash, points: sweep.rows
      .filter((row) => row[key] && isNumber(row[key].mean))
      .map((row) => ({ x: row.value, y: row[key].mean, sd: row[key].sd, tip: { title: `${name}, ${sweep.option} ${row.value}`,
        rows: [["Accuracy", `${meanSd(row[key])} %`], ["Sparsity", compact(row.sparsity)], ["Seeds", String(row.seeds)]] } })) });
    const all = [series("zsl", "ZSL", "orange", "dot", null), series("h", "H", "green", "ring", "5 3")].filter((one) => one.points.length);
    const ends = all.flatMap((one) => one.points.flatMap((point) => [point.y - (point.sd || 0), point.y + (point.sd || 0)]));
    const height = 380;
    const svg = frame.svg(height);
    frame.marks(drawLines(svg, { x: 0, y: 0, width: Math.min(frame.width, 760), height }, {
      x: { label: sweep.option === "active" ? `Active networks of ${sweep.networks}` : sweep.option, domain: padded(sweep.rows.map((row) => row.value), 0.03) },
      y: { label: "Accuracy, %", domain: padded(ends, 0.12) },
      series: all,
    }), { radius: 60 });
  },
});
