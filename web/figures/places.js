// Where the model expects each unseen class, beside where its test samples lie.

defineFigure({
  id: "places",
  section: "geometry",
  title: "Prototypes of unseen classes",
  missing: "No prototypes of unseen classes: they need test samples of unseen classes and a model that compares samples and classes by cosine.",
  data: (run) => (run.places && run.places.rows.length ? run.places : null),

  sentence(places) {
    const { rows } = places;
    const own = rows.filter((one) => one.own).length;
    const ownOfAll = rows.filter((one) => one.own_of_all).length;
    const seen = rows.some((one) => isNumber(one.nearest_seen_cosine)) ? `, and for ${ownOfAll} if seen classes count too` : "";
    const others = own < rows.length ? " (the others in bold)" : "";
    return `Among unseen classes, the mean of the test samples is nearest to its own predicted ${prototypeWord(places)} for ${own} of ${count(rows.length, "class", "classes")}${others}${seen}; `
      + `the mean cosine is ${fixed(d3.mean(rows, (one) => one.cosine), 2)}. Training does not use these samples.`;
  },

  table: ({ rows }) => ({
    columns: ["class", "samples", "cosine", "nearest other unseen", "its cosine", "own nearest", "nearest seen", "its cosine", "own nearest of all"],
    rows: rows.map((one) => [one.class, one.samples, one.cosine, one.nearest, one.nearest_cosine, one.own ? "yes" : "no",
      one.nearest_seen, one.nearest_seen_cosine, one.own_of_all ? "yes" : "no"]),
  }),

  controls(frame, { rows }) {
    Object.assign(frame.state, { search: "", order: "margin" });
    const change = (key) => (value) => {
      frame.state[key] = value;
      frame.chart.scrollTop = 0;
      frame.redraw();
    };
    frame.controls.append(searchControl("Find a class", change("search")),
      selectControl("Sort", [["margin", "smallest margin first"], ["cosine", "lowest cosine first"], ["name", "by name"]], "margin", change("order")));
    frame.chart.classList.toggle("tall", rows.length > 20);
  },

  draw(frame, places) {
    const { search, order } = frame.state;
    const word = prototypeWord(places);
    const margin = (one) => one.cosine - (one.nearest_cosine ?? -1);
    const shown = places.rows.filter((one) => one.class.toLowerCase().includes(search));
    shown.sort(order === "name" ? (a, b) => a.class.localeCompare(b.class)
      : (a, b) => (order === "cosine" ? a.cosine - b.cosine : margin(a) - margin(b)));
    const rows = shown.map((one) => {
      const tip = { title: one.class, rows: [[`Own ${word}`, fixed(one.cosine, 3)],
        ...(one.nearest === null ? [] : [[`Unseen: ${one.nearest}`, fixed(one.nearest_cosine, 3)]]),
        ...(one.nearest_seen === null ? [] : [[`Seen: ${one.nearest_seen}`, fixed(one.nearest_seen_cosine, 3)]]),
        ["Nearest to its own", one.own ? "yes" : "no"], ["Samples", String(one.samples)]] };
      return { label: one.class, strong: !one.own, values: [
        { value: one.nearest_seen_cosine, kind: "ring", tone: "blue", tip },
        { value: one.nearest_cosine, kind: "ring", tone: "vermillion", tip },
        { value: one.cosine, kind: "dot", tone: "vermillion", tip },
      ] };
    });
    const has = (key) => places.rows.some((one) => isNumber(one[key]));
    const values = places.rows.flatMap((one) => [one.cosine, one.nearest_cosine, one.nearest_seen_cosine]).filter(isNumber);
    drawRows(frame, rows, { domain: [Math.min(0, d3.min(values)), 1], label: `Cosine of the samples' mean and a ${word}`, rowHeight: 20, legend: [
      { name: `own ${word}`, tone: "vermillion", mark: "dot" },
      has("nearest_cosine") && { name: "nearest other unseen class", tone: "vermillion", mark: "ring" },
      has("nearest_seen_cosine") && { name: "nearest seen class", tone: "blue", mark: "ring" },
    ].filter(Boolean) });
  },
});
