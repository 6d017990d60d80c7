// Why a class was chosen: attributes that decided against the runner-up, and the attributes seen in the picture.

// What speaks for a class with this value of an attribute against one with the other: `lower "on water" (0 vs. 95)`.
// Names are verbs, nouns or whole phrases, so that they are quoted.
function trait(name, value, other) {
  return `${value < other ? "lower" : "higher"} "${words(name)}" (${compact(value)} vs. ${compact(other)})`;
}

class Evidence {
  constructor(page) {
    this.page = page;
    this.tab = "why";
    this.all = false;
  }

  show(prediction, explanation) {
    const tabs = [
      ["why", explanation ? `Why not ${Names.of(explanation.runner_up.class)}?` : "Why?", () => this.why(explanation)],
      ["attributes", "Attributes in the picture", () => this.attributes(prediction)],
    ].filter(([key]) => (key === "why" ? explanation : prediction.attributes));
    if (!tabs.length) return element("p", { class: "note" }, "There are no explanations for this model.");
    if (!tabs.some(([key]) => key === this.tab)) [[this.tab]] = tabs;
    const panel = element("div", { role: "tabpanel", id: "evidence-panel", class: "evidence", tabindex: "0" });
    const buttons = tabs.map(([key, text]) => element("button", { type: "button", role: "tab", id: `tab-${key}`,
      "aria-controls": "evidence-panel", onclick: () => choose(key) }, text));
    const choose = (key) => {
      this.tab = key;
      tabs.forEach(([other, , make], i) => {
        buttons[i].setAttribute("aria-selected", String(other === key));
        buttons[i].tabIndex = other === key ? 0 : -1;
        if (other === key) panel.replaceChildren(make());
      });
      panel.setAttribute("aria-labelledby", `tab-${key}`);
    };
    const list = element("div", { role: "tablist", class: "tabs", "aria-label": "Evidence", onkeydown: (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way) return;
      event.preventDefault();
      const next = buttons[(buttons.indexOf(document.activeElement) + way + buttons.length) % buttons.length];
      next.click();
      next.focus();
    } }, ...buttons);
    choose(this.tab);
    return element("div", {}, list, panel);
  }

  why({ winner, runner_up: second, attributes, examples, calibration }) {
    const [first, other] = [winner.class, second.class].map(Names.of);
    const shown = attributes.slice(0, 8);
    const rows = [...shown.map((one) => ({ ...one, name: words(one.name) })),
      { name: "training pictures", contribution: examples }, { name: "offset of seen classes", contribution: calibration }]
      .filter((row) => row.contribution).sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    const most = Math.max(...rows.map((row) => Math.abs(row.contribution)));
    const list = (sign) => wordList(shown.filter((one) => Math.sign(one.contribution) === sign && one.winner !== one.runner_up).slice(0, 3)
      .map((one) => trait(one.name, ...(sign > 0 ? [one.winner, one.runner_up] : [one.runner_up, one.winner]))));
    const speaks = (name, sign) => (list(sign) ? `For ${name}: ${list(sign)}. ` : "");
    const offset = winner.score - second.score < calibration ? `Without the offset of seen classes, the answer would be ${other}.` : "";
    const [mine, others] = [winner.class, second.class].map((name) => this.page.bank.valuesOf(name));
    const alike = mine && others && mine.every((value, j) => value === others[j]) ? `${first} and ${other} have the same description. ` : "";
    const bare = [winner.class, second.class].filter((name) => this.page.bank.isBare(name));
    const apart = bare.length ? `${wordList(bare.map(Names.of))} ${bare.length > 1 ? "have" : "has"} no attributes to compare. ` : "";
    const text = element("p", {}, apart || alike || `${speaks(first, 1)}${speaks(other, -1)}`, offset);
    if (!rows.length) return text;
    return element("div", {}, text,
      element("table", { class: "why" },
        element("caption", { class: "visually-hidden" }, `What each attribute adds to ${first} against ${other}`),
        element("thead", {}, element("tr", {}, ...[["Attribute"], [first], [other], ["against ◂ ▸ for", "balance"]]
          .map(([title, kind]) => element("th", { scope: "col", class: kind || (hasLongWord(title) ? "breaks" : null) }, title)))),
        element("tbody", {}, ...rows.map((row) => {
          const bar = element("span", { class: `swing ${row.contribution < 0 ? "against" : "for"}` });
          bar.style.width = `${(50 * Math.abs(row.contribution)) / most}%`;
          return element("tr", {}, element("th", { scope: "row" }, row.name), element("td", {}, "winner" in row ? compact(row.winner) : ""),
            element("td", {}, "runner_up" in row ? compact(row.runner_up) : ""),
            element("td", { class: "balance" }, bar, element("span", { class: "amount" }, `${row.contribution > 0 ? "+" : ""}${fixed(row.contribution, 3)}`)));
        }))));
  }

  // The predicted value as a bar, that of the best class, if it has one, as a line.
  attributes(prediction) {
    const { bank } = this.page;
    const values = bank.valuesOf(prediction.classes[0].class);
    const name = Names.of(prediction.classes[0].class);
    const share = (value, { minimum, maximum }) => Math.max(0, Math.min(1, (value - minimum) / (maximum - minimum || 1)));
    const rows = bank.attributes.map((attribute, j) => ({ attribute, predicted: prediction.attributes[j], value: values ? values[j] : null }))
      .sort((a, b) => share(b.predicted, b.attribute) - share(a.predicted, a.attribute));
    const shown = this.all ? rows : rows.slice(0, 10);
    const panel = element("div", {}, element("p", {}, "Bar: the value that the model reads from the picture. ",
      bank.isBare(prediction.classes[0].class) ? `${name} is known by examples alone and has no description.` : `Line: the value in the description of ${name}.`),
      element("table", { class: "seen-attributes" },
        element("caption", { class: "visually-hidden" }, `Attributes predicted from the picture${values ? `, and those of ${name}` : ""}`),
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Attribute"),
          element("th", { scope: "col" }, element("span", { class: "visually-hidden" }, "Chart")),
          element("th", { scope: "col" }, "Picture"), values ? element("th", { scope: "col", class: hasLongWord(name) ? "breaks" : null }, name) : null)),
        element("tbody", {}, ...shown.map(({ attribute, predicted, value }) => {
          const bar = element("span", { class: "bar" }, element("span", {}));
          bar.firstChild.style.width = `${100 * share(predicted, attribute)}%`;
          if (isNumber(value)) {
            bar.append(element("i", {}));
            bar.lastChild.style.left = `${100 * share(value, attribute)}%`;
          }
          return element("tr", {}, element("th", { scope: "row" }, words(attribute.name)), element("td", { "aria-hidden": "true" }, bar),
            element("td", { class: "number" }, compact(Number(predicted.toPrecision(2)))),
            values ? element("td", { class: "number" }, compact(value)) : null);
        }))));
    if (rows.length > 10) {
      panel.append(element("button", { type: "button", id: "all-attributes", class: "link", onclick: () => {
        this.all = !this.all;
        const next = this.attributes(prediction);
        panel.replaceWith(next);
        next.lastChild.focus();
      } }, this.all ? "Show fewer" : `Show all ${rows.length} attributes`));
    }
    return panel;
  }
}
