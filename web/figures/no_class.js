// Inputs that are of no class by construction: the share that the model rejects.

defineFigure({
  id: "no-class",
  section: "open-set",
  title: "Inputs of no class",
  data: (run) => (run.open_set && run.open_set.no_class.length ? run.open_set : null),

  sentence({ no_class: kinds, unknown }) {
    const [least, most] = [d3.scan(kinds, (a, b) => a.rejected - b.rejected), d3.scan(kinds, (a, b) => b.rejected - a.rejected)].map((i) => kinds[i]);
    const share = least.rejected === most.rejected ? `${percent(least.rejected)} % of the inputs of every kind are rejected`
      : `From ${percent(least.rejected)} % (${least.name}) to ${percent(most.rejected)} % (${most.name}) of the inputs of a kind are rejected`;
    return `${share}; of the samples of unknown classes, ${percent(unknown.rejected)} %.`;
  },

  table: ({ no_class: kinds }) => ({
    columns: ["inputs", "features", "number", "rejected", "auroc"],
    rows: kinds.map((kind) => [kind.name, kind.features, kind.inputs, kind.rejected, kind.auroc]),
  }),

  draw(frame, { no_class: kinds, known_seen: seen, known_unseen: unseen, unknown }) {
    const bar = (label, value, tone, rows) => ({ label, values: [{ value, tone, kind: "bar", tip: { title: label, rows: [["Rejected", `${percent(value)} %`], ...rows] } }] });
    const samples = [["known, seen classes", seen, "blue"], ["known, unseen classes", unseen, "blue"], ["unknown", unknown, "orange"]]
      .filter(([, share]) => isNumber(share.rejected))
      .map(([label, share, tone]) => bar(label, share.rejected, tone, [["Test samples", String(share.samples)]]));
    const made = kinds.map((kind) => bar(kind.name, kind.rejected, "orange",
      [["Inputs", String(kind.inputs)], ["AUROC", percent(kind.auroc)], ["Features", kind.features]]));
    drawRows(frame, [...samples, ...made], { domain: [0, 100], label: "Rejected, %", rowHeight: 24,
      legend: [{ name: "of classes of the bank", tone: "blue", mark: "bar" }, { name: "of no class of the bank", tone: "orange", mark: "bar" }] });
  },
});
