// The editor of a class of one's own: a class to start from, and sliders for what differs.

class Editor {
  constructor(page) {
    this.page = page;
    this.node = document.getElementById("editor");
    this.id = null;
    this.query = "";
    this.onlyChanged = false;
  }

  // Shows the class; the controls stay the same nodes while it is edited, so that sliders keep the pointer.
  open(id) {
    const { bank } = this.page;
    this.id = id;
    this.query = "";
    this.onlyChanged = false;
    this.name = element("input", { type: "text", id: "class-name", autocomplete: "off", spellcheck: "false", maxlength: "100",
      oninput: () => bank.rename(id, this.name.value.trim()) });
    const starts = [[NOTHING, "nothing (all attributes at their minimum)"], [AVERAGE, "the average of all classes"],
      ...bank.classes.filter((one) => one.attributes).map((one) => [one.name, Names.of(one.name)])];
    this.base = selectControl("Like", starts, NOTHING, (base) => bank.startFrom(id, base));
    this.base.querySelector("select").id = "class-base";
    this.base.classList.add("wide");
    this.warning = element("p", { class: "warning", id: "name-problem" });
    this.valueProblem = element("p", { class: "warning", id: "value-problem" });
    this.sentence = element("p", { class: "sentence" });
    this.effect = element("p", { class: "effect", id: "effect" });
    this.strip = element("div", { class: "strip", "aria-hidden": "true" });
    this.rows = bank.attributes.map((attribute, j) => this.row(attribute, j));
    this.none = element("p", { class: "note" }, "No attributes match.");
    this.list = element("ul", { class: "sliders scrolls", "aria-label": "Attributes" }, ...this.rows.map((row) => row.node), this.none);
    this.node.replaceChildren(
      element("div", { class: "panel-head" }, element("h2", {}, "Your class"),
        element("button", { type: "button", id: "delete-class", onclick: () => bank.remove(id) }, "Delete"),
        element("button", { type: "button", id: "done", class: "primary", onclick: () => this.page.edit(null) }, "Done")),
      this.strip,
      element("label", { class: "control wide" }, element("span", {}, "Name"), this.name), this.warning,
      this.base, this.sentence, this.effect, this.valueProblem,
      element("div", { class: "filters" },
        searchControl("Find attribute", (query) => {
          this.query = query;
          this.filter();
        }),
        checkboxControl("Only changed", false, (on) => {
          this.onlyChanged = on;
          this.filter();
        })),
      this.list);
    this.update();
    (bank.own(id).name ? this.base.querySelector("select") : this.name).focus();
  }

  row({ name, minimum, maximum, step }, j) {
    const { bank } = this.page;
    const text = words(name);
    const range = { min: minimum, max: maximum, step: step || niceStep(maximum - minimum) };
    const slider = element("input", { type: "range", ...range, "aria-label": text, oninput: () => bank.set(this.id, j, Number(slider.value)) });
    const number = element("input", { type: "number", step: "any", "aria-label": `${text}, number`, onchange: () => this.setNumber(j, number) });
    const reset = element("button", { type: "button", class: "small reset", onclick: () => {
      slider.focus();  // before the change, which would hide it where only changed ones are shown
      bank.set(this.id, j, null);
      this.page.announce(`${text} is reset.`);
    } }, "↺");
    const node = element("li", {}, element("span", { class: "attribute-name", title: name }, text), slider, number, reset);
    return { node, slider, number, reset, text, j };
  }

  // A value as typed. One out of the scale becomes the nearest, which is said.
  setNumber(j, number) {
    const { bank } = this.page;
    const { name, minimum, maximum } = bank.attributes[j];
    const typed = number.valueAsNumber;
    const value = Math.max(minimum, Math.min(maximum, typed));
    if (isNumber(value)) bank.set(this.id, j, value);
    number.value = Number(bank.values(bank.own(this.id))[j].toPrecision(4));
    if (value === typed) return;
    const text = `The scale of ${words(name)} is ${compact(minimum)} to ${compact(maximum)}`;
    this.valueProblem.textContent = `${text}${isNumber(value) ? `; the value is set to ${compact(value)}` : ""}.`;
    this.page.announce(this.valueProblem.textContent);
  }

  // Controls as the bank is now.
  update() {
    const { bank } = this.page;
    const one = bank.own(this.id);
    const base = bank.baseValues(one.base);
    const values = bank.values(one);
    if (document.activeElement !== this.name || this.name.value.trim() !== one.name) this.name.value = one.name;
    this.base.querySelector("select").value = one.base;
    const problem = bank.problem(one);
    this.warning.textContent = problem || "";
    this.valueProblem.textContent = "";
    this.name.setAttribute("aria-describedby", "name-problem");
    this.name.setAttribute("aria-invalid", String(Boolean(problem)));
    for (const { slider, number, reset, text, j, node } of this.rows) {
      const changed = j in one.changes;
      if (Number(slider.value) !== values[j]) slider.value = values[j];
      if (document.activeElement !== number) number.value = Number(values[j].toPrecision(4));
      reset.disabled = !changed;
      reset.setAttribute("aria-label", `Reset ${text} to ${compact(base[j])}`);
      node.classList.toggle("changed", changed);
    }
    const changes = Object.keys(one.changes).map((j) => `${words(bank.attributes[j].name).replace(/^has /, "")} ${compact(one.changes[j])}`);
    const start = one.base === NOTHING ? null : one.base === AVERAGE ? "the average" : Names.of(one.base);
    this.sentence.textContent = start && changes.length ? `Like ${start}, but with ${wordList(changes)}.`
      : start ? `Like ${start}. Move the sliders of what differs.` : changes.length ? `With ${wordList(changes)}.` : "Choose a similar class, or move sliders.";
    this.filter();
    this.showEffect();
  }

  showEffect() {
    const { bank } = this.page;
    const one = bank.own(this.id);
    const taken = bank.problem(one) ? null : this.page.taken(one.name);
    this.effect.textContent = taken === null ? "" : this.page.takes(one.name);
    this.showStrip(taken === null ? [] : this.page.items.filter((item) => this.page.verdict(item) === one.name));
  }

  // The pictures that are assigned to the class, in one row, where the grid is out of sight.
  showStrip(items) {
    const { pictures } = this.page;
    this.strip.hidden = !items.length && !this.effect.textContent;
    this.strip.replaceChildren(element("span", {}, `${items.length} assigned`), ...(pictures.any ? items.slice(0, 30).map((item) => pictures.node(item)) : []));
  }

  filter() {
    const { changes } = this.page.bank.own(this.id);
    for (const { node, text, j, slider } of this.rows) {
      node.hidden = !(text.toLowerCase().includes(this.query) && (!this.onlyChanged || j in changes || slider === document.activeElement));
    }
    this.none.hidden = this.rows.some(({ node }) => !node.hidden);
  }
}

// About a hundred steps of 1, 2 or 5.
function niceStep(range) {
  if (!(range > 0)) return "any";
  const power = 10 ** Math.floor(Math.log10(range / 100) + 1e-9);
  return [1, 2, 5].map((digit) => Number((digit * power).toPrecision(1))).find((step) => range / step <= 200);
}
