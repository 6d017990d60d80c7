// Puts the parts together: what is selected, what is predicted, who is told.

const MOST_PHOTOS = 64;

const Page = {
  selected: null,
  rejecting: false,
  coverage: 0.9,
  predictedState: null,  // what the bank was like then
  chosenFrom: new Set(),  // the names of the classes that the predictions on the page chose from
  items: [],  // photos of one's own, then samples: {photo, id, name, label, features, url, prediction}

  async start() {
    const theme = document.getElementById("theme-switch");
    Theme.start(() => {
      theme.textContent = Theme.current() === "dark" ? "Light theme" : "Dark theme";
      theme.removeAttribute("aria-pressed");  // its name says what it does
    });
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();  // no entry in the history
      document.getElementById("pictures").focus();
    });
    Server.start();
    Server.onSlow = () => {
      document.getElementById("waiting").textContent = Server.slow && !Server.lost ? "Waiting for the server…" : "";
    };
    Server.onLost = () => {
      Server.onSlow();
      Page.say("The server does not answer. The page resumes when it is back.", "server");
      if (Page.all) Page.showAll();
    };
    document.getElementById("token-form").addEventListener("submit", (event) => {
      event.preventDefault();
      Server.useToken(document.getElementById("token").value.trim());
      document.getElementById("token").value = "";
      if (Page.all) Page.returned();
      else Page.begin();
    });
    await Page.begin();
  },

  async begin() {
    Server.onReturn = () => window.location.reload();
    try {
      await Page.load();
    } catch (error) {
      Page.problem(error);
      return;
    }
    Page.authorized();
    Server.onReturn = () => Page.returned();
  },

  // What the page is built from: the model, its classes and the samples.
  describe() {
    return Promise.all(["/v1/model", "/v1/classes", "/v1/samples"].map((path) => Server.json(path)));
  },

  async load() {
    const description = await Page.describe();
    const [model, described, samples] = description;
    Page.description = JSON.stringify(description);
    Page.model = model;
    Page.pictures = new Pictures(samples);
    Page.items = unseenFirst(samples.samples).map((sample) => ({ ...sample, label: sample.class, photo: false, prediction: null }));
    await Page.pictures.load();
    Names.start(described.classes.map((one) => one.class));
    Page.bank = new Bank(described, model.limits.bank_classes, `parsnets-bank ${model.name} ${described.classes.map((one) => one.class).join()}`, () => Page.changed());
    const seen = count(model.seen, "seen class", "seen classes");
    document.getElementById("model-line").textContent =
      `${isolated(model.name)}: ${seen}, ${model.classes - model.seen} unseen, ${count(model.attributes, "attribute")}`;
    Page.result = new Result(Page);
    Page.list = new ClassList(Page);
    Page.editor = new Editor(Page);
    Page.grid = new Grid(Page);
    Page.suggestions = new Suggestions(Page);
    Page.photoInput = new PhotoInput(Page);
    History.start({
      onBack: () => {
        const open = Page.editor.id !== null;
        if (open) Page.edit(null);
        return open;
      },
      onForward: (id) => {
        if (Page.editor.id === null && Page.bank.own(id)) Page.edit(id);
      },
    });
    const tell = { onProblem: (error) => Page.problem(error), onBusy: () => Page.busy() };
    Page.all = new Live((signal) => Page.predictAll(signal), { ...tell, pause: 50 });
    Page.one = new Live((signal) => Page.predictOne(signal), { ...tell, pause: 0 });
    document.getElementById("undo").addEventListener("click", () => Page.step("undo"));
    document.getElementById("redo").addEventListener("click", () => Page.step("redo"));
    document.getElementById("dismiss").addEventListener("click", () => Page.solved(Page.saidAbout));
    window.addEventListener("keydown", Page.shortcut);
    Page.grid.build();
    const first = Page.items.find((item) => item.label && !item.seen) || Page.items[0];
    if (first) Page.select(first);
    else Page.selectNothing();
    Page.changed();
  },

  // Predictions ------------------------------------------------------------------------------------------------------
  request(more) {
    return { reject: Page.model.rejects, bank: Page.bank.request(), ...more };
  },

  async predictAll(signal) {
    const names = Page.bank.present().map((one) => one.name);
    const { state } = Page.bank;
    const photos = Page.items.filter((item) => item.photo);
    const samples = Page.items.filter((item) => !item.photo);
    const ask = (what, items) => (items.length ? Server.json("/v1/predict", Page.request({ ...what, top: 1 }), signal) : { predictions: [] });
    const [ofPhotos, ofSamples] = await Promise.all([
      ask({ features: photos.map((item) => item.features) }, photos), ask({ samples: "all" }, samples)]);
    return () => {
      photos.forEach((item, i) => {
        item.prediction = ofPhotos.predictions[i];
      });
      Page.chosenFrom = new Set(names);
      Page.predictedState = state;
      for (const item of samples) item.prediction = ofSamples.predictions[item.id];
      Page.solved("prediction");
      Page.showAll();
    };
  },

  async predictOne(signal) {
    const item = Page.selected;
    const what = item.photo ? { features: [item.features] } : { samples: [item.id] };
    const more = { ...what, top: 5, attributes: true, ...(Page.model.sets ? { coverage: Page.coverage } : {}) };
    const explains = Page.model.explains && Page.bank.present().length > 1;  // it compares two classes
    const [answer, explanation] = await Promise.all([
      Server.json("/v1/predict", Page.request(more), signal), explains ? Server.json("/v1/explain", { bank: Page.bank.request(), ...what }, signal) : null]);
    return () => {
      Page.solved("prediction");
      Page.shown = { item, prediction: answer.predictions[0], explanation };
      Page.showOne();
    };
  },

  showAll() {
    Page.grid.update();
    Page.suggestions.update();
    document.getElementById("offset").textContent = Page.offsetNote();
    if (Page.editor.id === null) {
      Page.list.update();
    } else {
      Page.editor.showEffect();
      if (Page.editor.effect.textContent) Page.announce(Page.editor.effect.textContent, "effect");
    }
  },

  showOne() {
    const { item, prediction, explanation } = Page.shown;
    Page.result.show(item, prediction, explanation);
    const verdict = Page.rejecting && prediction.unknown ? UNKNOWN : prediction.classes[0].class;
    if (Page.told !== item) Page.announce(`${item.label ? Names.of(item.label) : pictureName(item)}: ${Names.of(verdict)}, ${percentOf(prediction.classes[0].confidence)}.`);
    Page.told = item;
  },

  // The class that the item is classified as, "unknown", or null before it is predicted.
  verdict(item) {
    if (!item.prediction) return null;
    return Page.rejecting && item.prediction.unknown ? UNKNOWN : item.prediction.classes[0].class;
  },

  busy() {
    const set = (id, on) => document.getElementById(id).setAttribute("aria-busy", String(on));
    set("main", Page.all.busy || Page.one.busy);
    for (const [panel, part, stale] of [["result", "result-body", Page.one.stale], ["pictures", "grid", Page.all.stale], ["classes", "class-rows", Page.all.stale]]) {
      set(part, stale);
      document.getElementById(panel).classList.toggle("stale", stale);
    }
  },

  // How many pictures of the class there are, and how many of them are classified as it.
  score(label) {
    const verdicts = Page.items.filter((item) => item.label === label).map(Page.verdict);
    const number = (wanted) => verdicts.filter((name) => name === wanted).length;
    return { all: verdicts.length, right: number(label), unknown: number(UNKNOWN) };
  },

  // Whether the predictions on the page are those of its classes.
  predicted() {
    return !Server.lost && Page.items.some((item) => item.prediction);
  },

  // How many pictures are classified as the class; null where nothing is known of it yet.
  taken(name) {
    return Page.predicted() && Page.chosenFrom.has(name) ? Page.items.filter((item) => Page.verdict(item) === name).length : null;
  },

  // What a visitor would take for a fault: a class without samples in training takes most of a seen class.
  offsetNote() {
    const { classes } = Page.bank;
    const unseen = new Set(Page.bank.present().filter((one) => !one.seen).map((one) => one.name));
    if (!(Page.model.gamma > 0) || !Page.predicted()) return "";
    let worst = { share: 0.5 };
    for (const { name } of classes.filter((one) => one.seen && !Page.bank.isHidden(one.name))) {
      const verdicts = Page.items.filter((item) => item.label === name).map(Page.verdict);
      for (const taker of new Set(verdicts.filter((verdict) => unseen.has(verdict)))) {
        const number = verdicts.filter((verdict) => verdict === taker).length;
        if (number >= 3 && number / verdicts.length > worst.share) worst = { share: number / verdicts.length, name, taker, number, all: verdicts.length };
      }
    }
    if (!worst.name) return "";
    const [name, taker] = [worst.name, worst.taker].map(Names.of);
    return `${worst.number} of ${worst.all} pictures of ${name} are classified as ${taker}. An offset, gamma, is subtracted from the scores of seen classes, `
      + `to balance seen and unseen classes. A seen class that looks like an unseen one loses pictures to it. Hide ${taker} to compare.`;
  },

  // "14 pictures are assigned to it: 9 of horse, 5 of deer.", or nothing.
  takes(name) {
    if (Page.taken(name) === null) return "";
    const mine = Page.items.filter((item) => Page.verdict(item) === name);
    const byLabel = new Map();
    for (const { label } of mine) byLabel.set(label, (byLabel.get(label) || 0) + 1);
    const parts = [...byLabel].sort((a, b) => b[1] - a[1]).map(([label, number]) => `${number} of ${label ? Names.of(label) : "your photos"}`);
    const { all, right } = Page.score(name);
    const share = all ? ` Of ${count(all, "picture")} of ${Names.of(name)}, ${right} ${right === 1 ? "is" : "are"} classified as ${Names.of(name)}.` : "";
    if (!mine.length) return `No pictures are assigned to it.${share}`;
    return `${count(mine.length, "picture")} ${mine.length === 1 ? "is" : "are"} assigned to it: ${wordList(parts)}.${share}`;
  },

  // What the reader does ---------------------------------------------------------------------------------------------
  select(item) {
    Page.selected = item;
    Page.grid.mark();
    Page.one.poke({ drop: true });
    Page.result.expect(item);
  },

  // The newest first. They are sent with every request, so they are not many.
  addPhoto(photo) {
    const most = Math.min(MOST_PHOTOS, Page.model.limits.batch);
    const older = Page.items.filter((item) => item.photo).slice(most - 1);
    if (older.length) {
      Page.drop(older);
      Page.photoInput.note(`Only the newest ${most === 1 ? "photo is" : `${most} photos are`} kept.`);
    }
    Page.items.unshift({ ...photo, url: URL.createObjectURL(photo.image), prediction: null });
    Page.grid.build();
    Page.select(Page.items[0]);
    Page.all.poke();
  },

  removePhotos() {
    Page.photoInput.queue = [];
    Page.drop(Page.items.filter((item) => item.photo));
    Page.grid.build();
    if (Page.items.length) Page.select(Page.items[0]);
    else Page.selectNothing();
    document.getElementById("choose-photo").focus();
  },

  drop(photos) {
    for (const { url } of photos) URL.revokeObjectURL(url);
    Page.items = Page.items.filter((item) => !photos.includes(item));
  },

  selectNothing() {
    Page.selected = null;
    Page.one.cancel();
    Page.result.empty(Page.model.photos ? "Add a photo." : "The server has no pictures. Start it with a data set.");
  },

  setRejecting(on) {
    Page.rejecting = on;
    Page.grid.build();
    Page.list.update();
    Page.showOne();
  },

  setCoverage(coverage) {
    Page.coverage = coverage;
    Page.one.poke({ drop: true });
  },

  // Opens the editor; null closes it. `opener` is the id of the button that has the focus afterwards; otherwise it is
  // that of the class.
  edit(id, opener = null) {
    const open = id !== null;
    const before = Page.editor.id;
    document.getElementById("editor").hidden = !open;
    document.getElementById("class-list").hidden = open;
    Page.editor.id = id;
    if (open) {
      Page.opener = opener;
      History.opened(id);
      Page.editor.open(id);
      return;
    }
    History.closed();
    const one = before === null ? null : Page.bank.own(before);
    if (one && Page.bank.untouched(one)) Page.bank.discard(before);
    Page.list.update();
    if (before !== null) {
      (document.getElementById(Page.opener) || document.querySelector(`[data-id="${before}"] button`) || document.getElementById("new-class")).focus();
    }
  },

  // After each edit of the bank.
  changed() {
    if (!Page.grid) return;
    document.getElementById("undo").disabled = !Page.bank.past.length;
    document.getElementById("redo").disabled = !Page.bank.future.length;
    Page.list.forgetExport();
    if (Page.editor.id === null) Page.list.update();
    else if (Page.bank.own(Page.editor.id)) Page.editor.update();
    else Page.edit(null);
    Page.grid.buildFilters();
    Page.grid.update();
    Page.all.poke();
    if (Page.selected) Page.one.poke();
  },

  step(way) {
    const button = document.getElementById(way);
    const done = Page.bank[way]();
    if (done) Page.announce(done);
    if (document.activeElement === document.body) (button.disabled ? document.getElementById(way === "undo" ? "redo" : "undo") : button).focus();
  },

  // Text fields undo their own text, and search fields empty themselves.
  shortcut(event) {
    if (event.key === "Escape" && Page.editor.id !== null && !event.isComposing && !(event.target.type === "search" && event.target.value)) {
      Page.edit(null);
      return;
    }
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(event.key.toLowerCase())) return;
    if (event.target.matches("input[type=text], input[type=number], input[type=search], input[type=password]")) return;
    event.preventDefault();
    Page.step(event.shiftKey || event.key.toLowerCase() === "y" ? "redo" : "undo");
  },

  // Messages ---------------------------------------------------------------------------------------------------------
  // For screen readers. Messages stay for a while, so that one does not silence the other; a newer one of the same kind
  // takes the place of the older.
  announce(text, kind = "") {
    const announcer = document.getElementById("announcer");
    const last = announcer.lastElementChild;
    if (kind && last && last.dataset.kind === kind) last.remove();
    const message = element("p", { "data-kind": kind }, text);
    announcer.append(message);
    window.setTimeout(() => message.remove(), 30000);
  },

  // A problem in plain words; `about` says what would solve it.
  say(text, about) {
    const node = document.getElementById("problem");
    node.hidden = false;
    node.firstElementChild.textContent = text;
    Page.saidAbout = about;
  },

  solved(about) {
    if (Page.saidAbout !== about) return;
    document.getElementById("problem").hidden = true;
    Page.saidAbout = null;
  },

  problem(error, about = "prediction") {
    if (!(error instanceof ServerProblem)) throw error;
    if (error.code === "unauthorized") Page.askToken(error.message);
    else if (error.code !== "lost") Page.say(error.message, about);
  },

  askToken(text) {
    document.getElementById("token-form").hidden = false;
    document.getElementById("choose-photo").disabled = true;
    const problem = document.getElementById("token-problem");
    if (problem.textContent !== text) problem.textContent = text;
    if (!Page.all || document.activeElement === document.body) document.getElementById("token").focus();
  },

  authorized() {
    document.getElementById("token-form").hidden = true;
    document.getElementById("choose-photo").disabled = !Page.model.photos;
  },

  // The server is back: the same, or another one.
  async returned() {
    Page.solved("server");
    try {
      if (JSON.stringify(await Page.describe()) !== Page.description) {
        window.location.reload();
        return;
      }
      Page.authorized();
      Page.announce("The server is back.");
      Page.all.poke();
      if (Page.selected) Page.one.poke();
      Page.pictures.retry();
      Page.photoInput.work();
    } catch (error) {
      Page.problem(error);
    }
  },
};

Page.start();
