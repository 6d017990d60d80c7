// Six pictures for the reader to label: their answers are examples of classes, and the page counts what they change.

const SUGGESTED = 6;

class Suggestions {
  // `page` provides bank, items, pictures, verdict(item), predictedState.
  constructor(page) {
    this.page = page;
    this.gain = null;  // {state, text}: what labels changed, while the classes are those of `state`
    this.text = document.getElementById("gain");
    this.form = document.getElementById("labelling");
    this.button = element("button", { type: "button", id: "suggest", onclick: () => this.ask() }, "Label six");
    if (Suggestions.offered(page)) document.getElementById("choose-photo").before(this.button);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.teach();
    });
  }

  // The page without a server cannot choose samples.
  static offered({ model, items }) {
    return model.learns && !model.offline && items.some((item) => !item.photo);
  }

  async ask() {
    if (this.button.disabled) return;
    this.button.disabled = true;
    try {
      const { suggestions } = await Server.json("/v1/suggest", { count: SUGGESTED, bank: this.page.bank.request() });
      this.page.solved("suggestion");
      if (suggestions.length) this.show(suggestions);
      else this.page.say("No picture looks like an unseen class: nothing to label.", "suggestion");
    } catch (error) {
      this.page.problem(error, "suggestion");
    }
    this.button.disabled = false;
  }

  show(suggestions) {
    const { page } = this;
    const classes = unseenFirst(page.bank.present()).map(({ name }) => [name, Names.of(name)]);
    this.asked = suggestions.map(({ sample, guess }, i) => {
      const item = page.items.find((one) => !one.photo && one.id === sample);
      // A name of a file may tell the class.
      const picture = page.pictures.any ? page.pictures.node(item, true) : element("span", {}, `Sample ${sample}`);
      const control = selectControl(`Class of ${page.pictures.any ? `picture ${i + 1}` : `sample ${sample}`}`, [["", "Skip"], ...classes], "", () => {});
      return { sample, select: control.querySelector("select"), node: element("li", {}, picture, control,
        element("p", { class: "note" }, `Classified as ${Names.of(guess)}`)) };
    });
    this.form.replaceChildren(element("h3", {}, `Which classes are these ${count(suggestions.length, "picture")} of?`),
      element("p", { class: "note" }, "The model should learn most from these. They become examples of the classes that you choose. Undo takes them back."),
      element("ul", { class: "suggestions" }, ...this.asked.map(({ node }) => node)),
      element("div", { class: "buttons", role: "group", "aria-label": "Labels" }, element("button", { class: "primary" }, "Teach"),
        element("button", { type: "button", onclick: () => this.close() }, "Cancel")));
    this.open(true);
    this.asked[0].select.focus();
  }

  // The form takes the place of the pictures.
  open(on) {
    this.form.hidden = !on;
    for (const id of ["filters", "legend", "grid"]) document.getElementById(id).hidden = on;
  }

  close() {
    this.open(false);
    this.button.focus();
  }

  teach() {
    const { page } = this;
    const present = new Set(page.bank.present().map((one) => one.name));
    const labels = this.asked.map(({ sample, select }) => [sample, select.value]).filter(([, name]) => present.has(name));
    if (!labels.length) {
      page.say("Choose the class of at least one picture.", "suggestion");
      this.asked[0].select.focus();
      return;
    }
    page.solved("suggestion");
    const before = page.predictedState === page.bank.state && page.predicted() ? this.verdicts() : null;
    page.bank.teach(labels);
    this.gain = before && { state: page.bank.state, before, text: null };
    this.close();
  }

  verdicts() {
    return new Map(this.page.items.map((item) => [item, this.page.verdict(item)]));
  }

  // After predictions: the gain is told once, and shown until the classes change.
  update() {
    const { page, gain } = this;
    const holds = Boolean(gain) && page.predictedState === gain.state;
    if (holds && gain.text === null) {
      gain.text = this.gainOf(gain.before, this.verdicts());
      page.announce(gain.text);
    }
    this.text.textContent = holds ? gain.text : "";
  }

  // Pictures with labels of the reader's do not count: the model has learned these.
  gainOf(before, after) {
    const others = [...after.keys()].filter((item) => before.has(item) && (item.photo || !this.page.bank.isTaught(item.id)));
    const unseen = this.page.grid.unseen();
    const tested = others.filter((item) => unseen.has(item.label));
    const right = (verdicts) => tested.filter((item) => verdicts.get(item) === item.label).length;
    const changed = `${others.filter((item) => before.get(item) !== after.get(item)).length} of ${count(others.length, "prediction")} changed.`;
    if (!tested.length) return changed;
    const told = (verdicts) => `${right(verdicts)} (${percentOf(right(verdicts) / tested.length)})`;
    return `Of ${count(tested.length, "other picture")} of unseen classes, ${told(before)} were classified correctly before your labels; now ${told(after)}. ${changed}`;
  }
}
