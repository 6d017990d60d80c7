// Zero-shot recognition from a ParsNets device model, by the C runtime compiled to WebAssembly. Works in browsers,
// workers and Node.js. Results of int8 models have the same bits on every machine.

const FACTS = ["features", "attributes", "outputs", "modelClasses", "active", "gamma", "temperature", "rejects", "learns",
  "capacity", "added", "slots", "multiplyAdds", "workBytes", "savedBytes"];
const AMONG = { all: 0, seen: 1, unseen: 2 };
// The names of pnrt_status in parsnets_rt.h.
const STATUS = ["OK", "BAD_ARGUMENT", "MISALIGNED", "NOT_A_MODEL", "OTHER_VERSION", "TRUNCATED", "DAMAGED", "INVALID",
  "NO_MEMORY", "NOT_FINITE", "BAD_NAME", "EXISTS", "NOT_FOUND", "FULL", "CANNOT_LEARN", "OTHER_MODEL", "NO_REJECTION",
  "LEFT_OUT"];
const NOT_FOUND = STATUS.indexOf("NOT_FOUND");
const NAME_BYTES = 64;
const MATCH_BYTES = 12, VERDICT_BYTES = 12, EXPLANATION_BYTES = 24;
// A module with one SIMD128 instruction: valid where the host knows it.
const SIMD_PROBE = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0,
  253, 15, 253, 98, 11]);

/** An error of the runtime; `status` is the name of its code, such as "DAMAGED". */
export class ParsNetsError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "ParsNetsError";
    this.status = status;
  }
}

/** Whether this host runs SIMD128. */
export function hasSimd() {
  return WebAssembly.validate(SIMD_PROBE);
}

const compiled = new Map();  // by address: a module is compiled once

async function moduleOf(wasm) {
  if (wasm instanceof WebAssembly.Module) return wasm;
  if (wasm !== undefined && !(wasm instanceof URL) && typeof wasm !== "string") return WebAssembly.compile(wasm);
  const file = hasSimd() ? "parsnets-simd.wasm" : "parsnets.wasm";
  const address = wasm === undefined ? new URL(file, import.meta.url) : new URL(wasm, import.meta.url);
  if (!compiled.has(address.href)) {
    compiled.set(address.href, read(address).then((bytes) => WebAssembly.compile(bytes)));
    compiled.get(address.href).catch(() => compiled.delete(address.href));
  }
  return compiled.get(address.href);
}

async function read(address) {
  if (address.protocol === "file:" && typeof process !== "undefined" && process.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return readFile(address);
  }
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address.href}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/**
 * Opens a device model (`parsnets export`).
 * @param {ArrayBuffer|ArrayBufferView} bytes the file
 * @param {{wasm?: WebAssembly.Module|ArrayBuffer|ArrayBufferView|URL|string}} [options] `wasm`: the runtime, where it
 *   does not lie beside this module
 */
export async function load(bytes, options = {}) {
  const instance = await WebAssembly.instantiate(await moduleOf(options.wasm));
  return new Model(instance.exports, asBytes(bytes, "bytes"));
}

function asBytes(data, what) {
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new TypeError(`${what}: expected an ArrayBuffer or a typed array`);
}

/** A model and the classes added to it. Synchronous; not shared between threads. */
export class Model {
  #w;
  #facts = {};
  #scratch = { at: 0, bytes: 0 };

  /** Use `load`. */
  constructor(exports, file) {
    this.#w = exports;
    const at = this.#allocate(file.length);
    new Uint8Array(exports.memory.buffer).set(file, at);
    this.#check(exports.open(at, file.length), "the model");
    this.#check(exports.reserve(8), "the model");
    FACTS.slice(0, 9).forEach((name, i) => { this.#facts[name] = exports.fact(i); });
  }

  /** Values of a sample, of a description, of a prediction. */
  get features() { return this.#facts.features; }
  get attributes() { return this.#facts.attributes; }
  get outputs() { return this.#facts.outputs; }
  /** What is subtracted from the scores of seen classes; `adapt` moves it. */
  get gamma() { return this.#fact("gamma"); }
  /** Whether the model can say that a sample is unknown, and whether it learns from samples. */
  get rejects() { return this.#facts.rejects === 1; }
  get learns() { return this.#facts.learns === 1; }
  /** Multiply-adds of one prediction. */
  get multiplyAdds() { return this.#fact("multiplyAdds"); }
  /** Bytes of WebAssembly memory: the model, working memory, classes and what was learned. */
  get memoryBytes() { return this.#w.memory.buffer.byteLength; }

  /** The classes: `{name, index, seen, added}`, in the order of their index. */
  get classes() {
    const out = [];
    for (let index = 0; index < this.#fact("slots"); ++index) {
      const name = this.#className(index);
      if (name !== null)
        out.push({ name, index, seen: this.#w.is_seen(index) === 1, added: index >= this.#facts.modelClasses });
    }
    return out;
  }

  /** Names of the attributes; null if the model has none. */
  get attributeNames() {
    const names = [];
    for (let i = 0; i < this.attributes; ++i) {
      const at = this.#w.attribute_name(i);
      if (at === 0) return null;
      names.push(this.#text(at));
    }
    return names;
  }

  /**
   * The best classes of a sample.
   * @param {Float32Array|number[]} features as the backbone gives them
   * @param {{top?: number, among?: "all"|"seen"|"unseen", reject?: boolean}} [options]
   * @returns {{matches: {name: string, index: number, score: number, confidence: number}[], unknown: boolean,
   *   knownScore: number}}
   */
  classify(features, { top = 1, among = "all", reject = false } = {}) {
    if (!(among in AMONG)) throw new TypeError(`among: expected all, seen or unseen, found ${among}`);
    if (!Number.isInteger(top) || top < 1) throw new TypeError(`top: expected a positive integer, found ${top}`);
    const k = Math.min(top, this.#fact("slots"));
    const [x, matches, verdict] = this.#room(4 * this.features, MATCH_BYTES * k, VERDICT_BYTES);
    this.#put(x, features, this.features, "features");
    this.#check(this.#w.classify(x, reject ? 1 : 0, AMONG[among], matches, k, verdict), "classify");
    const view = new DataView(this.#w.memory.buffer), out = [];
    for (let i = 0; i < view.getUint32(verdict, true); ++i) {
      const at = matches + MATCH_BYTES * i, index = view.getUint32(at, true);
      out.push({ name: this.#className(index), index, score: view.getFloat32(at + 4, true),
        confidence: view.getFloat32(at + 8, true) });
    }
    return { matches: out, unknown: view.getUint32(verdict + 4, true) === 1,
      knownScore: view.getFloat32(verdict + 8, true) };
  }

  /** A sample in the space of class vectors, and the active networks: `{values: Float32Array, active: Uint16Array}`. */
  predict(features) {
    const [x, values, active] = this.#room(4 * this.features, 4 * this.outputs, 2 * this.#facts.active);
    this.#put(x, features, this.features, "features");
    this.#check(this.#w.predict(x, values, active), "predict");
    const memory = this.#w.memory.buffer;
    return { values: new Float32Array(memory, values, this.outputs).slice(),
      active: new Uint16Array(memory, active, this.#facts.active).slice() };
  }

  /** The score of each class index, before gamma; of an index without a class it is the lowest float. */
  scores(features) {
    const slots = this.#fact("slots"), [x, out] = this.#room(4 * this.features, 4 * slots);
    this.#put(x, features, this.features, "features");
    this.#check(this.#w.scores(x, out), "scores");
    return new Float32Array(this.#w.memory.buffer, out, slots).slice();
  }

  /** Adds a class from its attributes, in the units of training, without training; returns its index. */
  addClass(name, attributes) {
    if (this.#fact("added") === this.#fact("capacity"))
      this.#check(this.#w.reserve(2 * this.#fact("capacity")), "addClass");
    const [a, index, text] = this.#room(4 * this.attributes, 4, NAME_BYTES + 1);
    this.#put(a, attributes, this.attributes, "attributes");
    this.#putName(text, name);
    this.#check(this.#w.add_class(text, a, index), `class '${name}'`);
    return new DataView(this.#w.memory.buffer).getUint32(index, true);
  }

  /** Removes a class, of the model or an added one. */
  removeClass(name) {
    const [text] = this.#room(NAME_BYTES + 1);
    this.#putName(text, name);
    this.#check(this.#w.remove_class(text), `class '${name}'`);
  }

  /** The index of a class; -1 if there is none of that name. */
  indexOf(name) {
    const [index, text] = this.#room(4, NAME_BYTES + 1);
    this.#putName(text, name);
    const status = this.#w.find_class(text, index);
    if (status === NOT_FOUND) return -1;
    this.#check(status, `class '${name}'`);
    return new DataView(this.#w.memory.buffer).getUint32(index, true);
  }

  /** The vector that predictions are compared with for a class. */
  classVector(index) {
    const [out] = this.#room(4 * this.outputs);
    this.#check(this.#w.class_vector(index, out), `class ${index}`);
    return new Float32Array(this.#w.memory.buffer, out, this.outputs).slice();
  }

  /** Unlabelled samples move the prototypes of unseen classes; returns how many have moved. `rows`: n samples, one
   *  after the other, or an array of samples. */
  adapt(rows) {
    const { at, count, more: [moved] } = this.#rows(rows, 4);
    this.#check(this.#w.adapt(at, count, moved), "adapt");
    return new DataView(this.#w.memory.buffer).getUint32(moved, true);
  }

  /** A few labelled samples of a class move its prototype. */
  teach(name, rows) {
    const { at, count, more: [text] } = this.#rows(rows, NAME_BYTES + 1);
    this.#putName(text, name);
    this.#check(this.#w.teach(text, at, count), `class '${name}'`);
  }

  /** Forgets what was learned from samples; added classes stay. */
  forget() {
    this.#check(this.#w.forget(), "forget");
  }

  /**
   * Why the best class of a sample comes before the second.
   * @returns {{winner: string, runnerUp: string, winnerScore: number, runnerUpScore: number, calibration: number,
   *   examples: number, contributions: Float32Array, predicted: Float32Array}} contributions of each attribute to the
   *   difference of the scores; predicted: the attributes that the sample seems to have
   */
  explain(features) {
    const m = this.attributes;
    const [x, why, contributions, predicted] = this.#room(4 * this.features, EXPLANATION_BYTES, 4 * m, 4 * m);
    this.#put(x, features, this.features, "features");
    this.#check(this.#w.explain(x, why, contributions, predicted), "explain");
    const memory = this.#w.memory.buffer, view = new DataView(memory), number = (i) => view.getFloat32(why + 4 * i, true);
    return { winner: this.#className(view.getUint32(why, true)), runnerUp: this.#className(view.getUint32(why + 4, true)),
      winnerScore: number(2), runnerUpScore: number(3), calibration: number(4), examples: number(5),
      contributions: new Float32Array(memory, contributions, m).slice(),
      predicted: new Float32Array(memory, predicted, m).slice() };
  }

  /** Added and removed classes and what was learned, as bytes for `restore` or `pnrt_bank_load`. */
  save() {
    const bytes = this.#fact("savedBytes"), [at] = this.#room(bytes);
    this.#check(this.#w.save(at, bytes), "save");
    return new Uint8Array(this.#w.memory.buffer, at, bytes).slice();
  }

  /** Replaces added classes and what was learned by saved ones of the same model. */
  restore(saved) {
    const bytes = asBytes(saved, "saved");
    for (;;) {
      const [at] = this.#room(bytes.length);
      new Uint8Array(this.#w.memory.buffer).set(bytes, at);
      const status = this.#w.restore(at, bytes.length);
      if (status !== STATUS.indexOf("NO_MEMORY") || this.#fact("capacity") >= 1 << 20) {
        this.#check(status, "restore");
        return;
      }
      this.#check(this.#w.reserve(2 * this.#fact("capacity")), "restore");
    }
  }

  #fact(name) { return this.#w.fact(FACTS.indexOf(name)); }

  #check(status, what) {
    if (status === 0) return;
    const text = this.#text(this.#w.status_text(status));
    throw new ParsNetsError(STATUS[status] ?? String(status), `${what}: ${text}`);
  }

  #allocate(bytes) {
    const at = this.#w.allocate(bytes);
    if (at === 0) throw new ParsNetsError("NO_MEMORY", `no memory for ${bytes} bytes`);
    return at;
  }

  /** Memory for one call: an address for each size, aligned to 16. */
  #room(...sizes) {
    const starts = [];
    let bytes = 0;
    for (const size of sizes) {
      starts.push(bytes);
      bytes += Math.ceil(size / 16) * 16;
    }
    if (bytes > this.#scratch.bytes) this.#scratch = { at: this.#allocate(2 * bytes), bytes: 2 * bytes };
    return starts.map((start) => this.#scratch.at + start);
  }

  #put(at, values, count, what) {
    if (values === null || values === undefined || values.length !== count)
      throw new TypeError(`${what}: expected ${count} numbers, found ${values?.length ?? values}`);
    new Float32Array(this.#w.memory.buffer, at, count).set(values);
  }

  #rows(rows, ...more) {
    const d = this.features, nested = rows.length > 0 && typeof rows[0] !== "number";
    const count = nested ? rows.length : rows.length / d;
    if (!Number.isInteger(count)) throw new TypeError(`rows: expected samples of ${d} numbers, found ${rows.length} numbers`);
    const [at, ...others] = this.#room(4 * d * count, ...more);
    if (nested) rows.forEach((row, i) => this.#put(at + 4 * d * i, row, d, `sample ${i}`));
    else this.#put(at, rows, rows.length, "rows");
    return { at, count, more: others };
  }

  #putName(at, name) {
    const bytes = new TextEncoder().encode(name).slice(0, NAME_BYTES);  // too long is an error of the runtime
    const memory = new Uint8Array(this.#w.memory.buffer);
    memory.set(bytes, at);
    memory[at + bytes.length] = 0;
  }

  #className(index) {
    const at = this.#w.class_name(index);
    return at === 0 ? null : this.#text(at);
  }

  #text(at) {
    const memory = new Uint8Array(this.#w.memory.buffer, at);
    return new TextDecoder().decode(memory.subarray(0, memory.indexOf(0)));
  }
}
