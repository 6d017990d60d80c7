// The class bank as edited on the page: classes of one's own, and classes of the model that are hidden. A class of one's
// own is a class to start from and the attributes that differ: {id, name, base, changes: {attribute: value}}; where it
// redescribes a class of the model, `replaces` is the name of that one.
// Samples that the reader labelled are `taught`: {sample: the name of a class, or the id of one of the reader's own}.
// `base` is the name of a class, or one of these.
const NOTHING = "";
const AVERAGE = "\u0000average";
const MOST_NAME_BYTES = 200;  // of a class in a request, as UTF-8

class Bank {
  // `described`: the answer of /v1/classes. `most`: the classes that a request can add. `onChange` is called after each
  // edit.
  constructor(described, most, storageKey, onChange) {
    this.most = most;
    this.attributes = withScale(described.attributes);
    this.classes = described.classes.map(({ class: name, ...more }) => ({ name, ...more }));
    this.storageKey = storageKey;
    this.onChange = onChange;
    this.byName = new Map(this.classes.map((one) => [one.name, one]));
    this.byShownName = new Map(this.classes.map((one) => [Names.plain(one.name), one.name]));
    this.average = this.attributes.map((attribute, j) => {
      const known = this.classes.map((one) => one.attributes && one.attributes[j]).filter(isNumber);
      return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : attribute.minimum;
    });
    this.state = { ...(this.restored() || { own: [], hidden: [], next: 1 }), taught: {} };
    this.past = [];  // {state, text}: before the edit that `text` describes
    this.future = [];
  }

  own(id) {
    return this.state.own.find((one) => one.id === id);
  }

  isOwn(name) {
    return this.state.own.some((one) => one.name === name && !this.problem(one));
  }

  isHidden(name) {
    return this.state.hidden.includes(name);
  }

  // Whether it is a class of the model without attributes: known by examples alone.
  isBare(name) {
    const one = this.byName.get(name);
    return Boolean(one && !one.attributes && !this.isOwn(name));
  }

  // Classes that the model chooses from: {name, seen, own}.
  present() {
    return [
      ...this.classes.filter((one) => !this.isHidden(one.name)).map(({ name, seen }) => ({ name, seen, own: false })),
      ...this.state.own.filter((one) => !this.problem(one)).map(({ name }) => ({ name, seen: false, own: true })),
    ];
  }

  baseValues(base) {
    if (base === NOTHING) return this.attributes.map((attribute) => attribute.minimum);
    const values = base === AVERAGE ? this.average : this.byName.get(base).attributes;
    return this.average.map((value, j) => (isNumber(values[j]) ? values[j] : value));
  }

  // The values of a class that is present, by name; null where the model does not have them.
  valuesOf(name) {
    const own = this.state.own.find((one) => one.name === name && !this.problem(one));
    return own ? this.values(own) : (this.byName.get(name) || {}).attributes || null;
  }

  values(one) {
    return this.baseValues(one.base).map((value, j) => (j in one.changes ? one.changes[j] : value));
  }

  // Why the class cannot be used yet, or null.
  problem(one) {
    const problem = this.nameProblem(one);
    if (problem) return problem;
    const before = this.state.own.slice(0, this.state.own.indexOf(one)).filter((other) => !this.nameProblem(other));
    return before.length < this.most ? null : `The server takes at most ${this.most} classes of yours. Delete another one to use this one.`;
  }

  // What the server would refuse is not sent.
  nameProblem({ id, name }) {
    if (!name) return "Give the class a name.";
    if (name === UNKNOWN) return `"${UNKNOWN}" is the answer for pictures of no known class. Choose another name.`;
    if (new TextEncoder().encode(name).length > MOST_NAME_BYTES) return `The name is too long: it has more than ${MOST_NAME_BYTES} bytes.`;
    if (/[\u0000-\u001f\u007f]|\p{Surrogate}/u.test(name)) return "The name contains a character that cannot be shown. Type it anew.";
    const same = this.byName.has(name) ? name : this.byShownName.get(name);
    if (same !== undefined && !this.isHidden(same)) {
      return `The model has a class ${Names.of(name)}. Choose another name, or hide that class.`;
    }
    const first = this.state.own.find((other) => other.name === name);
    return first && first.id !== id ? `Another class of yours is called ${Names.of(name)}.` : null;
  }

  // What requests carry; undefined without edits.
  request() {
    const add = this.state.own.filter((one) => !this.problem(one)).map((one) => ({ class: one.name, attributes: this.values(one) }));
    const teach = this.examples();
    if (!add.length && !this.state.hidden.length && !teach.length) return undefined;
    return { add, remove: this.state.hidden, ...(teach.length ? { teach } : {}) };
  }

  isTaught(sample) {
    return sample in this.state.taught;
  }

  // The labels of the reader, of classes that are present.
  examples() {
    const present = new Set(this.present().map((one) => one.name));
    const samples = new Map();
    for (const [sample, label] of Object.entries(this.state.taught)) {
      const one = isNumber(label) ? this.own(label) : { name: label };
      if (one && present.has(one.name) && !(one.id && this.problem(one))) samples.set(one.name, [...(samples.get(one.name) || []), Number(sample)]);
    }
    return [...samples].map(([name, ids]) => ({ class: name, samples: ids }));
  }

  // Edits ------------------------------------------------------------------------------------------------------------
  // An edit soon after one with the same `key` is part of it: a slider that moves is undone at once.
  edit(text, key, state) {
    const last = this.past[this.past.length - 1];
    const now = Date.now();
    if (key && last && last.key === key && now - last.time < 1500 && !this.future.length) last.time = now;
    else this.past.push({ state: this.state, text, key, time: now });
    this.future = [];
    this.state = state;
    this.changed();
  }

  add(name, base) {
    const { own, next } = this.state;
    this.edit(`new class${name ? ` ${Names.of(name)}` : ""}`, null, { ...this.state, own: [...own, { id: next, name, base, changes: {} }], next: next + 1 });
    return next;
  }

  // Whether a class of the model can be hidden: the server needs one of them, and an answer is explained by comparing two.
  get canHide() {
    const present = this.present();
    return present.length > 2 && present.filter((one) => !one.own).length > 1;
  }

  // Hides a class of the model and adds one of the same name.
  redescribe(name, base) {
    const { own, hidden, next } = this.state;
    this.edit(`redescribe ${Names.of(name)}`, null,
      { ...this.state, own: [...own, { id: next, name, base, changes: {}, replaces: name }], hidden: [...hidden, name], next: next + 1 });
    return next;
  }

  hide(name, hidden) {
    const others = this.state.hidden.filter((other) => other !== name);
    this.edit(`${hidden ? "hide" : "show"} ${Names.of(name)}`, null, { ...this.state, hidden: hidden ? [...others, name] : others });
  }

  // `labels`: [sample, name of a class that is present].
  teach(labels) {
    const label = (name) => (this.state.own.find((one) => one.name === name && !this.problem(one)) || { id: name }).id;
    this.edit(`label ${count(labels.length, "picture")}`, null,
      { ...this.state, taught: { ...this.state.taught, ...Object.fromEntries(labels.map(([sample, name]) => [sample, label(name)])) } });
  }

  // The class of the model that it replaces comes back, unless another class of yours has that name.
  remove(id) {
    const { name, replaces } = this.own(id);
    const own = this.state.own.filter((one) => one.id !== id);
    const back = own.some((one) => one.name === replaces) ? null : replaces;
    this.edit(`delete ${Names.of(name)}`, null, { ...this.state, own, hidden: this.state.hidden.filter((other) => other !== back) });
  }

  // A new class that nobody has described.
  untouched({ name, base, changes, replaces }) {
    return !name && base === NOTHING && !Object.keys(changes).length && !replaces;
  }

  // Takes back an untouched class, as if it had never been made.
  discard(id) {
    const last = this.past[this.past.length - 1];
    if (!last || last.state.own.some((one) => one.id === id)) {
      this.remove(id);
      return;
    }
    this.past.pop();
    this.state = last.state;
    this.changed();
  }

  replace(id, text, key, part) {
    this.edit(text, `${id} ${key}`, { ...this.state, own: this.state.own.map((one) => (one.id === id ? { ...one, ...part } : one)) });
  }

  rename(id, name) {
    this.replace(id, `name ${Names.of(name)}`, "name", { name });
  }

  startFrom(id, base) {
    this.replace(id, "start from another class", "base", { base });
  }

  // A value like that of the base is no change.
  set(id, attribute, value) {
    const one = this.own(id);
    const { [attribute]: _, ...others } = one.changes;
    const same = value === null || value === this.baseValues(one.base)[attribute];
    this.replace(id, `${words(this.attributes[attribute].name)} of ${Names.of(one.name)}`, attribute, { changes: same ? others : { ...others, [attribute]: value } });
  }

  undo() {
    return this.step(this.past, this.future, "Undone");
  }

  redo() {
    return this.step(this.future, this.past, "Redone");
  }

  // Says what was done, or null.
  step(from, to, verb) {
    const entry = from.pop();
    if (!entry) return null;
    to.push({ ...entry, key: null, state: this.state });
    this.state = entry.state;
    this.changed();
    return `${verb}: ${entry.text}.`;
  }

  changed() {
    Session.set(this.storageKey, JSON.stringify({ ...this.state, taught: {} }));  // the server may hold other samples by then
    this.onChange();
  }

  // The edits of this session, if they still fit the model.
  restored() {
    const state = JSON.parse(Session.get(this.storageKey) || "null");
    const fits = state && state.own.every(({ base, changes }) => (base === NOTHING || base === AVERAGE || (this.byName.get(base) || {}).attributes)
      && Object.keys(changes).every((j) => j < this.attributes.length))
      && state.hidden.every((name) => this.byName.has(name)) && state.hidden.length < this.classes.length;
    return fits ? { ...state, own: state.own.filter((one) => !this.untouched(one)) } : null;
  }
}

// Unseen classes, or samples of them, before the others.
function unseenFirst(list) {
  return [...list.filter((one) => !one.seen), ...list.filter((one) => one.seen)];
}

// Attributes with the range of their sliders: shares and percentages have one scale, others the range of their classes.
function withScale(attributes) {
  const least = Math.min(...attributes.map((one) => one.minimum));
  const most = Math.max(...attributes.map((one) => one.maximum));
  const maximum = [1, 100].find((end) => least >= 0 && most <= end && most > end / 2);
  return maximum ? attributes.map((one) => ({ ...one, minimum: 0, maximum })) : attributes;
}
