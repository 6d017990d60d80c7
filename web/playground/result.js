// What the model says about the selected picture: verdict, ranked classes, prediction set.

const UNKNOWN = "unknown";

// A class with what it is: not by colour alone.
function classTag(name, seen, own) {
  const [sign, kind] = own ? ["★", "yours"] : seen ? ["●", "seen"] : ["◇", "unseen"];
  return element("span", { class: `class-tag ${kind}` }, element("span", { class: "sign", "aria-hidden": "true" }, sign),
    `\u00a0${name} `, element("span", { class: "kind" }, kind));
}

class Result {
  constructor(page) {
    this.page = page;
    this.node = document.getElementById("result-body");
    this.evidence = new Evidence(page);
  }

  // `prediction` and `explanation` of `item`: answers of the server.
  show(item, prediction, explanation) {
    const { bank, rejecting, model } = this.page;
    const [best] = prediction.classes;
    const unknown = rejecting && prediction.unknown;
    const own = bank.isOwn(best.name);
    const meaning = unknown ? prediction.why || "It is unlike the pictures of every class."
      : own ? "A class of yours: the model has only your description of it."
        : best.seen ? "A class with pictures in training." : "No picture of this class was in training, only its attributes.";
    const doubt = !rejecting && prediction.unknown
      ? `With rejection on, the answer would be unknown${prediction.why ? `: ${prediction.why}` : ""}` : null;
    const truth = item.label ? `Its label is ${item.label}.` : item.name;
    this.node.replaceChildren(...[
      element("div", { class: "verdict" }, this.page.pictures.node(item, true),
        element("div", {},
          element("p", { class: "verdict-name" }, unknown ? UNKNOWN : best.name,
            unknown ? null : element("span", { class: "verdict-share" }, ` ${percentOf(best.confidence)}`)),
          element("p", {}, sentence(meaning)),
          element("p", { class: "note" }, truth),
          doubt ? element("p", { class: "note doubt" }, sentence(doubt)) : null)),
      element("h3", {}, unknown ? "Nearest classes" : "Classes, best first"),
      this.ranking(prediction.classes),
      prediction.set ? this.set(prediction) : null,
      model.rejects ? this.rejectControl() : null,
      this.evidence.show(prediction, explanation),
    ].filter(Boolean));
  }

  ranking(classes) {
    return element("ol", { class: "bars" }, ...classes.map(({ name, seen, confidence }) => {
      const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span", {}));
      bar.firstChild.style.width = `${100 * confidence}%`;
      return element("li", {}, classTag(name, seen, this.page.bank.isOwn(name)), bar,
        element("span", { class: "value" }, percentOf(confidence)));
    }));
  }

  set(prediction) {
    const { coverage } = this.page;
    const choice = selectControl("holds the right class in", [0.8, 0.9, 0.95, 0.99].map((value) => [value, `${Math.round(100 * value)} % of cases`]),
      coverage, (value) => this.page.setCoverage(Number(value)));
    return element("div", { class: "prediction-set" }, element("span", {}, "Prediction set: ",
      element("strong", {}, wordList(prediction.set))), choice);
  }

  rejectControl() {
    const share = this.page.model.false_accept;
    return checkboxControl(`Allow the answer unknown${isNumber(share) ? ` (about ${compact(100 * share)} % of pictures of no known class still get one)` : ""}`,
      this.page.rejecting, (on) => this.page.setRejecting(on));
  }

  empty(text) {
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
