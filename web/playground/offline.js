// In place of server.js in the page that `parsnets page` writes: the same requests, answered in the browser by the
// runtime for devices. Everything that they need lies in the page.

class ServerProblem extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// A page from a disk shares its storage with other files, so that edits last as long as the page.
const Session = {
  kept: new Map(),
  get: (key) => Session.kept.get(key) ?? null,
  set: (key, value) => Session.kept.set(key, value),
};

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

const Server = {
  token: null,
  lost: false,
  slow: 0,
  adapts: false,
  onSlow: () => {},
  onLost: () => {},
  onReturn: () => {},

  start() {
    Server.data = JSON.parse(document.getElementById("page-data").textContent);
    Server.features = new Float32Array(bytesOf(Server.data.features).buffer);
    const { simd, plain, device } = Server.data;
    Server.opened = load(bytesOf(device), { wasm: bytesOf(hasSimd() ? simd : plain) }).then((model) => {
      Server.model = model;
      Server.original = model.save();
      Server.state = "";
    });
    if (Server.data.samples.samples.length > 0) Server.offerAdaptation();
  },

  useToken() {},

  // A box to tick: unseen classes learn from all pictures of the page, without their names.
  offerAdaptation() {
    const box = element("input", { type: "checkbox", id: "adapt" });
    box.addEventListener("change", () => {
      Server.adapts = box.checked;
      Page.announce(box.checked ? "Unseen classes adapt to the pictures." : "Nothing is learned from the pictures.");
      if (Page.all) Page.changed();
    });
    document.querySelector(".masthead .buttons").prepend(
      element("label", { class: "control", for: "adapt" }, box, element("span", {}, "Adapt to the pictures")));
  },

  async json(path, body, signal) {
    return (await Server.call(path, { body, signal })).json();
  },

  async call(path, { body, signal } = {}) {
    await Server.opened;
    await new Promise((resume) => window.setTimeout(resume));  // so that the page can draw in between
    if (signal && signal.aborted) throw new DOMException("no longer wanted", "AbortError");
    try {
      const answer = await Server.answer(path, body);
      return new Response(answer instanceof Blob || typeof answer === "string" ? answer : JSON.stringify(answer));
    } catch (error) {
      if (!(error instanceof ParsNetsError)) throw error;
      throw new ServerProblem(error.status, `${error.message}.`);
    }
  },

  answer(path, body) {
    const picture = /^\/v1\/samples\/(\d+)\/picture$/.exec(path);
    if (picture) return Server.blob(Server.data.pictures[Number(picture[1])]);
    switch (path) {
      case "/v1/model": return Server.data.model;
      case "/v1/classes": return Server.data.classes;
      case "/v1/samples": return Server.data.samples;
      case "/v1/samples/sheet": return Server.blob(Server.data.sheet);
      case "/v1/predict": return Server.predict(body);
      case "/v1/predict?top=1&return_features=true": return Server.readPhoto(body);
      case "/v1/explain": return Server.explain(body);
      case "/v1/bank": return Server.table(body.bank || {});
      case "/v1/bank?format=device":
        Server.use(body.bank);
        return new Blob([Server.model.save()]);
      default: throw new ServerProblem("not_found", "This page has no server.");
    }
  },

  blob({ type, bytes }) {
    return new Blob([bytesOf(bytes)], { type });
  },

  // The classes of the model with the edits of a request, and with what the pictures teach.
  use(bank = {}) {
    const { add = [], remove = [] } = bank, { model } = Server;
    const state = JSON.stringify([add, remove, Server.adapts]);
    if (Server.state === state) return;
    Server.state = null;  // until all is done
    model.restore(Server.original);
    for (const name of remove) model.removeClass(name);
    for (const { class: name, attributes } of add) model.addClass(name, attributes);
    if (Server.adapts && model.learns) model.adapt(Server.features);
    const seen = new Map(model.classes.map((one) => [one.name, one.seen]));
    Server.seen = (name) => seen.get(name) === true;
    Server.state = state;
  },

  rows({ features, samples }) {
    const d = Server.model.features;
    if (features) return features.map((row) => Float32Array.from(row));
    const chosen = samples === "all" ? Server.data.samples.samples.map((one) => one.id) : samples;
    return chosen.map((id) => Server.features.subarray(id * d, (id + 1) * d));
  },

  async readPhoto(image) {
    Server.reader = Server.reader || new PhotoReader(Server.data.backbone);
    try {
      return { features: [Array.from(await Server.reader.features(image))] };
    } catch (error) {
      throw new ServerProblem("refused", `${String(error.message || error).replace(/\.$/, "")}.`);
    }
  },

  predict(request) {
    Server.use(request.bank);
    const { model } = Server, { slope, offset } = Server.data.scale;
    return { predictions: Server.rows(request).map((x) => {
      const { matches, unknown, knownScore } = model.classify(x, { top: request.top || 1, reject: request.reject === true });
      return {
        classes: matches.map(({ name, score, confidence }) => ({ class: name, seen: Server.seen(name), score, confidence })),
        unknown: request.reject ? unknown : null, known_score: request.reject ? knownScore : null, why: null, set: null,
        attributes: request.attributes ? Array.from(model.explain(x).predicted, (v, j) => v * slope[j] + offset[j]) : null,
      };
    }) };
  },

  explain(request) {
    Server.use(request.bank);
    const why = Server.model.explain(Server.rows(request)[0]), { slope, offset } = Server.data.scale;
    const added = new Map(((request.bank || {}).add || []).map((one) => [one.class, one.attributes]));
    const valuesOf = (name) => added.get(name) || (Server.data.classes.classes.find((one) => one.class === name) || {}).attributes;
    const [first, second] = [why.winner, why.runnerUp].map(valuesOf);
    const attributes = Server.data.classes.attributes.map(({ name }, j) => ({
      name, contribution: why.contributions[j], predicted: why.predicted[j] * slope[j] + offset[j],
      winner: first ? first[j] : null, runner_up: second ? second[j] : null }));
    attributes.sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution));
    return { winner: { class: why.winner, score: why.winnerScore }, runner_up: { class: why.runnerUp, score: why.runnerUpScore },
      calibration: why.calibration, examples: why.examples, attributes };
  },

  // Classes with their attributes as CSV, edits included.
  table({ add = [], remove = [] }) {
    const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
    const { attributes, classes } = Server.data.classes;
    const rows = [...classes.filter((one) => one.attributes && !remove.includes(one.class)), ...add];
    return [["class", ...attributes.map((one) => one.name)], ...rows.map((one) => [one.class, ...one.attributes.map(String)])]
      .map((row) => `${row.map(cell).join()}\n`).join("");
  },
};
