// What each part of the method adds: ZSL and H by variant, mean ± standard deviation.

defineFigure({
  id: "ablation",
  section: "design",
  title: "Ablation",
  missing: "No ablation in this run: add one with `parsnets bench --methods ablation --out DIR/ablation.json`.",
  data: (run) => (run.ablation && run.ablation.rows.length ? run.ablation.rows : null),

  sentence(rows) {
    const known = rows.filter((row) => row.zsl && isNumber(row.zsl.mean));
    if (known.length < 2) return `${count(rows.length, "variant")}.`;
    const best = known[d3.scan(known, (a, b) => b.zsl.mean - a.zsl.mean)];
    const worst = known[d3.scan(known, (a, b) => a.zsl.mean - b.zsl.mean)];
    return `ZSL accuracy runs from ${percent(worst.zsl.mean)} (${worst.label}) to ${percent(best.zsl.mean)} (${best.label}).`;
  },

  table: (rows) => ({
    columns: ["variant", "zsl mean", "zsl sd", "h mean", "h sd"],
    rows: rows.map((row) => [row.label, row.zsl?.mean ?? null, row.zsl?.sd ?? null, row.h?.mean ?? null, row.h?.sd ?? null]),
  }),

  draw(frame, rows) {
    const value = (row, key, name, tone, kind) => ({ value: row[key]?.mean, sd: row[key]?.sd, tone, kind,
      tip: { title: row.label, rows: [[name, `${meanSd(row[key])} %`]] } });
    const ends = rows.flatMap((row) => [row.zsl, row.h].filter((cell) => cell && isNumber(cell.mean))
      .flatMap((cell) => [cell.mean - (cell.sd || 0), cell.mean + (cell.sd || 0)]));
    const hasH = rows.some((row) => row.h && isNumber(row.h.mean));
    drawRows(frame, rows.map((row) => ({ label: row.label, values: [value(row, "zsl", "ZSL", "orange", "dot"), value(row, "h", "H", "green", "ring")] })), {
      domain: padded(ends, 0.08), label: "Accuracy, %", rowHeight: 34,
      legend: [{ name: "ZSL", tone: "orange", mark: "dot" }, hasH && { name: "H", tone: "green", mark: "ring" }].filter(Boolean),
    });
  },
});
