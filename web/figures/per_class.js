// Accuracy of each class by name, sorted and searchable.

defineFigure({
  id: "per-class",
  section: "accuracy",
  title: "Accuracy of each class",
  missing: "No accuracies by class in this run.",
  data: (run) => (run.per_class.length ? run.per_class : null),

  sentence(classes) {
    const key = classes.some((one) => isNumber(one.gzsl)) ? "gzsl" : "zsl";
    const known = classes.filter((one) => isNumber(one[key]));
    if (!known.length) return `${count(classes.length, "class", "classes")}, none with an accuracy.`;
    const worst = known[d3.scan(known, (a, b) => a[key] - b[key])];
    const best = known[d3.scan(known, (a, b) => b[key] - a[key])];
    return `${key === "gzsl" ? "With all classes competing" : "Among unseen classes"}, ${best.class} does best at ${percent(best[key])} % and ${worst.class} worst at ${percent(worst[key])} %.`;
  },

  table: (classes) => ({
    columns: ["class", "unseen", "samples", "zsl", "gzsl"],
    rows: classes.map((one) => [one.class, one.unseen ? "yes" : "no", one.samples, one.zsl, one.gzsl]),
  }),

  controls(frame, classes) {
    Object.assign(frame.state, { search: "", group: "all", order: "low" });
    const change = (key) => (value) => {
      frame.state[key] = value;
      frame.chart.scrollTop = 0;
      frame.redraw();
    };
    frame.controls.append(
      searchControl("Find a class", change("search")),
      selectControl("Show", [["all", "all classes"], ["unseen", "unseen"], ["seen", "seen"]], "all", change("group")),
      selectControl("Sort", [["low", "lowest first"], ["high", "highest first"], ["name", "by name"]], "low", change("order")));
    frame.chart.classList.toggle("tall", classes.length > 20);
  },

  draw(frame, classes) {
    const { search, group, order } = frame.state;
    const value = (one) => (isNumber(one.gzsl) ? one.gzsl : one.zsl);
    const shown = classes.filter((one) => one.class.toLowerCase().includes(search)
      && (group === "all" || one.unseen === (group === "unseen")));
    shown.sort(order === "name" ? (a, b) => a.class.localeCompare(b.class)
      : (a, b) => (order === "low" ? 1 : -1) * ((value(a) ?? -1) - (value(b) ?? -1)));
    const rows = shown.map((one) => {
      const tip = { title: one.class, rows: [["Kind", one.unseen ? "unseen" : "seen"], ["GZSL", `${percent(one.gzsl)} %`],
        ...(one.unseen ? [["ZSL", `${percent(one.zsl)} %`]] : []), ["Samples", String(one.samples)]] };
      return { label: one.class, values: [
        { value: one.gzsl, kind: "dot", tone: one.unseen ? "vermillion" : "blue", tip },
        { value: one.zsl, kind: "ring", tone: one.unseen ? "vermillion" : "blue", tip },
      ] };
    });
    const has = (unseen, key) => classes.some((one) => one.unseen === unseen && isNumber(one[key]));
    drawRows(frame, rows, { domain: [0, 100], label: "Accuracy, %", rowHeight: 20, legend: [
      has(true, "gzsl") && { name: "unseen, GZSL", tone: "vermillion", mark: "dot" },
      has(true, "zsl") && { name: "unseen, ZSL", tone: "vermillion", mark: "ring" },
      has(false, "gzsl") && { name: "seen, GZSL", tone: "blue", mark: "dot" },
      has(false, "zsl") && { name: "seen, alone", tone: "blue", mark: "ring" },
    ].filter(Boolean) });
  },
});
