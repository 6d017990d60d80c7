// Accuracies before and after adapting to the unlabelled test samples.

const FIELD_METRICS = [["zsl", "ZSL"], ["u", "U"], ["s", "S"], ["h", "H"]];

defineFigure({
  id: "transductive",
  section: "field",
  title: "Adapted to the unlabelled test samples",
  missing: "No transductive results in this run: add them with `parsnets eval --transductive mixed --out DIR/mixed.json`.",
  data: (run) => (run.transductive && run.transductive.length ? run.transductive : null),

  sentence(list) {
    return list.map(({ protocol, samples, before, after }) => `Transductive (${protocol}), ${count(samples, "sample")} without labels: ZSL accuracy `
      + `${percent(before.zsl)} before and ${percent(after.zsl)} after${isNumber(after.h) ? `, H ${percent(before.h)} and ${percent(after.h)}` : ""}.`).join(" ");
  },

  table: (list) => ({
    columns: ["protocol", "metric", "before", "after"],
    rows: list.flatMap(({ protocol, before, after }) => FIELD_METRICS.filter(([key]) => isNumber(after[key]))
      .map(([key]) => [protocol, key, before[key], after[key]])),
  }),

  draw(frame, list) {
    const bar = (name, value, tone, label) => ({ label, values: [{ value, tone, kind: "bar", tip: { title: label, rows: [[name, `${percent(value)} %`]] } }] });
    const rows = FIELD_METRICS.filter(([key]) => isNumber(list[0].after[key])).flatMap(([key, name]) => [
      bar(name, list[0].before[key], "blue", `${name} before`),
      ...list.map(({ protocol, after }) => bar(name, after[key], "orange", `${name}, transductive (${protocol})`))]);
    drawRows(frame, rows, { domain: [0, 100], label: "Accuracy, %", rowHeight: 24,
      legend: [{ name: "before", tone: "blue", mark: "bar" }, { name: "after", tone: "orange", mark: "bar" }] });
  },
});
