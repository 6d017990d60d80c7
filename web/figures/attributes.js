// How well each attribute is predicted: the ten best and ten worst first, all on request.

defineFigure({
  id: "attributes",
  section: "attributes",
  title: "Quality of attribute prediction",
  missing: "No attribute to judge: this model predicts no attributes.",
  data(run) {
    const known = (run.attributes || []).filter((one) => isNumber(one.correlation));
    return known.length ? [...known].sort((a, b) => b.correlation - a.correlation) : null;
  },

  sentence(attributes) {
    const best = attributes[0];
    const worst = attributes[attributes.length - 1];
    return `Median correlation ${fixed(d3.median(attributes, (one) => one.correlation), 2)} over ${count(attributes.length, "attribute")}; best ${best.name} (${fixed(best.correlation, 2)}), worst ${worst.name} (${fixed(worst.correlation, 2)}).`;
  },

  table: (attributes) => ({ columns: ["attribute", "correlation"], rows: attributes.map((one) => [one.name, one.correlation]) }),

  controls(frame, attributes) {
    Object.assign(frame.state, { search: "", all: attributes.length <= 20 });
    frame.controls.append(searchControl("Find an attribute", (text) => {
      frame.state.search = text;
      frame.redraw();
    }));
    if (attributes.length > 20) {
      frame.controls.append(checkboxControl(`All ${attributes.length}`, false, (checked) => {
        frame.state.all = checked;
        frame.chart.scrollTop = 0;
        frame.redraw();
      }));
    }
    frame.chart.classList.add("tall");
  },

  draw(frame, attributes) {
    const { search, all } = frame.state;
    const ranked = attributes.map((one, i) => ({ ...one, place: i + 1 }));
    let shown = ranked;
    if (search) shown = ranked.filter((one) => one.name.toLowerCase().includes(search));
    else if (!all) shown = [...ranked.slice(0, 10), ...ranked.slice(-10)];
    const low = Math.min(0, d3.min(attributes, (one) => one.correlation));
    drawRows(frame, shown.map((one) => ({ label: one.name, values: [{ value: one.correlation, kind: "bar", tone: one.correlation < 0 ? "vermillion" : "blue",
      tip: { title: one.name, rows: [["Correlation", fixed(one.correlation, 3)], ["Place", `${one.place} of ${attributes.length}`]] } }] })), {
      domain: [low, Math.max(0.1, Math.min(1, 1.05 * attributes[0].correlation))], label: search || all ? "Correlation of predicted with true values" : "Correlation: ten best, ten worst", rowHeight: 21,
    });
  },
});
