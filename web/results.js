// The results section: headline figures, the rank in words, and the run beside the published rows.

const METRICS = [
  ["zsl", "ZSL", "Top-1 accuracy over the unseen classes alone"],
  ["u", "U", "Accuracy on unseen classes when all classes compete"],
  ["s", "S", "Accuracy on seen classes when all classes compete"],
  ["h", "H", "Harmonic mean of U and S"],
];

function resultsParts(run, part) {
  const { report } = part;
  const { summary } = run;
  const identity = ["data", "features", "semantics", "split", "method"].map((key) => summary[key]).filter(Boolean).join(" · ");
  return [
    element("p", { class: "identity" }, identity),
    headlineList(summary),
    isNumber(summary.u) ? null
      : element("p", { class: "absent" }, "No generalised evaluation in this run: U, S, H and AUSUC are not given."),
    detailList(summary),
    rankSentence(run, report),
    comparisonTable(part),
    part.prefix ? null : keyboardNote(),
  ].filter(Boolean);
}

function keyboardNote() {
  return element("p", { class: "note screen-only" }, "Charts take the keyboard: Tab moves from chart to chart, arrow keys step "
    + "through the marks of one, Escape closes the tooltip.");
}

function headlineList(summary) {
  const items = METRICS.filter(([key]) => isNumber(summary[key]))
    .map(([key, name, meaning]) => [key, name, percent(summary[key]), "%", meaning]);
  if (isNumber(summary.u) && isNumber(summary.ausuc)) {
    items.push(["ausuc", "AUSUC", percent(summary.ausuc), "%", "Area under the curve of seen against unseen accuracy"]);
  }
  return element("dl", { class: "headline" }, ...items.map(([key, name, value, unit, meaning]) =>
    element("div", { "data-metric": key }, element("dt", {}, name),
      element("dd", { class: "value" }, value, unit ? element("span", { class: "unit" }, unit) : null),
      element("dd", { class: "meaning" }, meaning))));
}

function detailList(summary) {
  const gamma = isNumber(summary.gamma)
    ? `${compact(summary.gamma)}${summary.gamma_from ? ` (from ${summary.gamma_from})` : ""}` : null;
  const items = [
    ["Top-5 of ZSL", isNumber(summary.zsl_top5) ? `${percent(summary.zsl_top5)} %` : null],
    ["Model size", isNumber(summary.model_bytes) ? bytes(summary.model_bytes) : null],
    ["Training time", isNumber(summary.seconds) ? duration(summary.seconds) : null],
    ["Calibration γ", gamma],
    ["Classes", isNumber(summary.classes) ? `${summary.classes} (${summary.seen_classes} seen, ${summary.classes - summary.seen_classes} unseen)` : null],
    ["Attributes", isNumber(summary.attributes) ? String(summary.attributes) : null],
    ["Dimensions", isNumber(summary.dimensions) ? String(summary.dimensions) : null],
  ].filter(([, value]) => value !== null);
  return element("dl", { class: "details" }, ...items.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

function rankSentence(run, report) {
  const { rank } = run;
  if (!rank) {
    return element("p", { class: "rank" }, report.reference.some((row) => !row.own)
      ? "No rank: no published row has the same kind of semantics." : "No published rows to compare with.");
  }
  const names = { zsl: "ZSL accuracy", u: "U", s: "S", h: "harmonic mean" };
  const places = [[rank.metric, rank.place, rank.of], [rank.metric2, rank.place2, rank.of2]]
    .filter(([metric, place]) => metric && isNumber(place))
    .map(([metric, place, of]) => `${ordinal(place)} of ${of} by ${names[metric] || metric}`);
  return element("p", { class: "rank" }, `${run.name} is ${places.join(" and ")} among the published rows with the same kind of semantics.`);
}

function comparisonTable({ report, selected, prefix, label }) {
  const columns = [["method", "Method"], ["features", "Features"], ["semantics", "Semantics"],
    ...METRICS.map(([key, name]) => [key, name]), ["source", "Source"]];
  const rows = [
    ...report.runs.map((run, i) => ({ ...run.summary, method: run.name === run.summary.method ? run.name : `${run.name} (${run.summary.method})`,
      source: "this report", here: true, selected: i === selected })),
    ...report.reference.map((row) => (row.own
      ? { ...row, source: [row.split, row.source, "own row, not measured here"].filter(Boolean).join("; ") } : row)),
  ];
  const order = { key: "zsl", down: true };
  const body = element("tbody", {});
  const heads = columns.map(([key, name]) => {
    const numeric = METRICS.some(([metric]) => metric === key);
    const button = element("button", { type: "button", onclick: () => {
      order.down = order.key === key ? !order.down : numeric;
      order.key = key;
      fill();
    } }, name, element("span", { class: "arrow", "aria-hidden": "true" }));
    return element("th", { scope: "col", class: numeric ? "number" : null, "data-key": key }, button);
  });
  const fill = () => {
    const { key, down } = order;
    const sorted = [...rows].sort((a, b) => {
      const [first, second] = [a[key], b[key]];
      const gaps = (first === null || first === undefined) - (second === null || second === undefined);
      if (gaps !== 0) return gaps;
      const ascending = typeof first === "number" ? first - second : String(first).localeCompare(String(second));
      return down ? -ascending : ascending;
    });
    body.replaceChildren(...sorted.map((row) => element("tr", { class: row.here ? "own" : null },
      ...columns.map(([name], i) => {
        const numeric = METRICS.some(([metric]) => metric === name);
        const value = numeric ? percent(row[name]) : row[name] || MISSING;
        return i === 0 ? element("th", { scope: "row" }, value) : element("td", { class: numeric ? "number" : null }, value);
      }))));
    for (const head of heads) {
      const on = head.dataset.key === key;
      if (on) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.querySelector(".arrow").textContent = on ? (down ? " ▼" : " ▲") : "";
    }
  };
  fill();
  const own = report.reference.filter((row) => row.own).length;
  const published = report.reference.length - own;
  const cited = [published ? count(published, "published row") : null, own ? count(own, "own row") : null].filter(Boolean);
  const beside = cited.length ? ` (highlighted) beside ${wordList(cited)}` : "";
  const caption = `${count(report.runs.length, "run")} of this report${beside}; accuracies in percent. A column heading sorts by its column.`;
  const title = cited.length ? `Results beside ${published ? "published" : "own"} rows` : "Results of the runs";
  return element("div", { class: "comparison" }, element("p", { class: "note", id: `${prefix}comparison-note` }, caption),
    scrollBox(element("table", { id: `${prefix}comparison`, class: "results-table", "aria-describedby": `${prefix}comparison-note` },
      element("caption", { class: "visually-hidden" }, title), element("thead", {}, element("tr", {}, ...heads)), body),
    label(title)));
}
