// What the model says about the selected picture: verdict, ranked classes, prediction set.

// A class with what it is: not by colour alone.
function classTag(name, seen, own) {
  const [sign, kind] = own ? ["★", "yours"] : seen ? ["●", "seen"] : ["◇", "unseen"];
  return element("span", { class: `class-tag ${kind}`, title: Names.title(name) }, element("span", { class: "sign", "aria-hidden": "true" }, sign),
    `\u00a0${Names.of(name)} `, element("span", { class: "kind" }, kind));
}

class Result {
  constructor(page) {
    this.page = page;
    this.node = document.getElementById("result-body");
    this.evidence = new Evidence(page);
  }

  // Before the answer about another item comes. What is shown stays for a moment: most answers come within it.
  expect(item) {
    window.clearTimeout(this.waiting);
    this.waiting = item === this.item ? null : window.setTimeout(() => this.pending(item), 150);
  }

  pending(item) {
    this.item = null;
    const verdict = element("div", { class: "verdict" }, this.page.pictures.node(item, true),
      element("div", {}, element("p", { class: "verdict-name" }, "…"), element("p", { class: "note" }, this.truth(item))));
    if (this.node.querySelector(".verdict")) this.node.querySelector(".verdict").replaceWith(verdict);
    else this.node.replaceChildren(verdict);
    this.node.classList.add("pending");
  }

  truth(item) {
    return item.label ? `Its label is ${Names.of(item.label)}.` : pictureName(item);
  }

  // `prediction` and `explanation` of `item`: answers of the server.
  show(item, prediction, explanation) {
    window.clearTimeout(this.waiting);
    this.item = item;
    this.node.classList.remove("pending");
    const held = this.node.contains(document.activeElement) ? document.activeElement.id : "";
    const { bank, rejecting, model } = this.page;
    const [best] = prediction.classes;
    const unknown = rejecting && prediction.unknown;
    const own = bank.isOwn(best.class);
    const meaning = unknown ? prediction.why || "It is unlike the pictures of all classes."
      : own ? "Your class: the model knows only your description of it."
        : best.seen ? "A seen class: the model was trained on pictures of it."
          : bank.isBare(best.class) ? "A class without attributes: the model knows it by examples alone." : "An unseen class: the model knows only its attributes.";
    const doubt = !rejecting && prediction.unknown && !this.hardlyRejects()
      ? `With rejection, the answer would be "unknown"${prediction.why ? `: ${prediction.why}` : ""}` : null;
    this.node.replaceChildren(...[
      element("div", { class: "verdict" }, this.page.pictures.node(item, true),
        element("div", {},
          element("p", { class: "verdict-name", title: unknown ? null : Names.title(best.class) }, unknown ? UNKNOWN : Names.of(best.class),
            unknown ? null : element("span", { class: "verdict-share" }, ` ${percentOf(best.confidence)}`)),
          element("p", {}, sentence(meaning)),
          element("p", { class: "note" }, this.truth(item)),
          doubt ? element("p", { class: "note doubt" }, sentence(doubt)) : null)),
      element("h3", {}, unknown ? "Nearest classes" : "Classes, best first"),
      this.ranking(prediction.classes),
      prediction.set ? this.set(prediction) : null,
      model.rejects ? this.rejectControl() : null,
      this.evidence.show(prediction, explanation),
    ].filter(Boolean));
    if (held && document.getElementById(held)) document.getElementById(held).focus({ preventScroll: true });
  }

  ranking(classes) {
    return element("ol", { class: "bars" }, ...classes.map(({ class: name, seen, confidence }) => {
      const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span", {}));
      bar.firstChild.style.width = `${100 * confidence}%`;
      return element("li", {}, classTag(name, seen, this.page.bank.isOwn(name)), bar,
        element("span", { class: "value" }, percentOf(confidence)));
    }));
  }

  set(prediction) {
    const { coverage, bank } = this.page;
    const choice = selectControl("Meant to contain the right class for", [0.8, 0.9, 0.95, 0.99].map((value) => [value, `${Math.round(100 * value)} % of pictures`]),
      coverage, (value) => this.page.setCoverage(Number(value)));
    choice.querySelector("select").id = "coverage";
    return element("div", { class: "prediction-set" }, element("span", {}, "Prediction set: ",
      element("strong", {}, wordList(prediction.set.map(Names.of)))), choice,
    bank.request() ? element("p", { class: "note" }, "This share was calibrated with the classes of the model. "
      + "You have changed them, so nothing guarantees it.") : null);
  }

  // What the calibration measured; older models have less of it.
  rejection() {
    const { rejection, false_accept: share } = this.page.model;
    return rejection || { false_accept: share };
  }

  // Whether known and unknown pictures are told apart little better than by chance.
  hardlyRejects() {
    const { auroc } = this.rejection();
    return isNumber(auroc) && auroc <= 0.6;
  }

  rejectControl() {
    const { false_accept: passed, rejected_seen: seen, rejected_unseen: unseen, auroc } = this.rejection();
    const share = (value, what) => (isNumber(value) ? `${Math.round(100 * value)} % of ${what}` : null);
    const rejected = [share(seen, "the pictures of seen classes"), share(unseen, "the pictures of unseen classes")].filter(Boolean);
    const costs = [isNumber(passed) ? `About ${share(passed, "pictures of no known class")} are still accepted.` : null,
      rejected.length ? `It also rejects ${wordList(rejected)}.` : null,
      this.hardlyRejects() ? "Rejection hardly works for this model: it tells known from unknown pictures little better than chance "
        + `(AUROC ${fixed(auroc, 2)}; chance is 0.5).` : null].filter(Boolean);
    const control = checkboxControl('Answer "unknown" when unsure', this.page.rejecting, (on) => this.page.setRejecting(on));
    control.querySelector("input").id = "reject";
    control.querySelector("input").setAttribute("aria-describedby", "costs");
    return element("div", { class: "rejection" }, control, element("p", { id: "costs", class: "note" }, costs.join(" ")));
  }

  empty(text) {
    window.clearTimeout(this.waiting);
    this.item = null;
    this.node.classList.remove("pending");
    this.node.replaceChildren(element("p", { class: "note" }, text));
  }
}

function percentOf(share) {
  return share > 0.9995 || share === 0 ? `${100 * Math.round(share)} %` : share < 0.001 ? "<0.1 %" : `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
}

// The text as a sentence of its own.
function sentence(text) {
  const trimmed = text.trim();
  return `${trimmed[0].toUpperCase()}${trimmed.slice(1)}${/[.!?…]$/.test(trimmed) ? "" : "."}`;
}
