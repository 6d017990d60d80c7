// What runtime/tests/golden.c computes, through the JavaScript interface: CRC-32 of predictions, scores, matches and
// verdicts, of explanations, and of prototypes after adaptation. Runs in Node.js and in browsers.

const SAMPLES = 10000, ADDED = 40;

const TABLE = new Uint32Array(256).map((_, i) => {
  let crc = i;
  for (let bit = 0; bit < 8; ++bit) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

export class Crc {
  #crc = 0xffffffff;
  bytes(data) {
    let crc = this.#crc;
    for (const byte of data) crc = (crc >>> 8) ^ TABLE[(crc ^ byte) & 255];
    this.#crc = crc;
  }
  values(array) { this.bytes(new Uint8Array(array.buffer, array.byteOffset, array.byteLength)); }
  floats(...numbers) { this.values(new Float32Array(numbers)); }
  integers(...numbers) { this.values(new Uint32Array(numbers)); }
  get hex() { return (~this.#crc >>> 0).toString(16).padStart(8, "0"); }
}

export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 16777216;
  };
}

const f = Math.fround;
const cubed = (v, factor) => f(f(f(v * v) * v) * factor);

/** Sample `number` of stream.h. */
export function streamSample(number, features) {
  const cluster = 1 + (Math.imul(number, 2654435761 | 0) >>> 0) % 24;
  const common = random(Math.imul(cluster, 7919)), own = random(number + 1000000);
  return Float32Array.from({ length: features }, () => cubed(f(common() + 0.5 * own()), 2));
}

/** The CRC-32 of `outputs`, `explanations` and, with class space, `adapted`. `open`: makes a model of the file. */
export async function goldenSums(open, { rejects = false, source = null } = {}) {
  const model = await open(), outputs = new Crc(), explanations = new Crc(), next = random(1);
  if (source) source(outputs);
  const second = model.classes[1].name;
  let slots = null;
  for (let s = 0; s < SAMPLES; ++s) {
    const x = Float32Array.from({ length: model.features }, () => cubed(next(), 4));
    if (s % 250 === 0 && s / 250 < ADDED)
      model.addClass(`added ${s / 250}`, Float32Array.from({ length: model.attributes }, next));
    if (s === SAMPLES / 2) {
      model.removeClass("added 0");
      model.removeClass(second);
    }
    const { values, active } = model.predict(x), { matches, unknown, knownScore } =
      model.classify(x, { top: 5, reject: rejects });
    slots ??= model.classes.filter((c) => !c.added).length + ADDED;  // as many as the bank of golden.c has
    const scores = new Float32Array(slots).fill(-3.4028234663852886e38);
    scores.set(model.scores(x).subarray(0, slots));
    outputs.values(values);
    outputs.values(active);
    outputs.values(scores);
    for (const match of matches) {
      outputs.integers(match.index);
      outputs.floats(match.score, match.confidence);
    }
    if (rejects) {
      outputs.integers(matches.length, unknown ? 1 : 0);
      outputs.floats(knownScore);
    }
    if (s % 100 === 0) {
      const why = model.explain(x);
      explanations.integers(model.indexOf(why.winner), model.indexOf(why.runnerUp));
      explanations.floats(why.winnerScore, why.runnerUpScore, why.calibration, why.examples);
      explanations.values(why.contributions);
    }
  }
  const sums = { outputs: outputs.hex, explanations: explanations.hex };
  if (model.learns) sums.adapted = adapted(await open());
  return sums;
}

function adapted(model) {
  const next = random(2), crc = new Crc();
  model.addClass("added", Float32Array.from({ length: model.attributes }, next));
  for (let number = 0; number < SAMPLES;) {
    const count = Math.min(Math.floor(number / 100) % 2 ? 7 : 1, SAMPLES - number);
    model.adapt(Array.from({ length: count }, (_, i) => streamSample(number + i, model.features)));
    number += count;
  }
  for (const { index } of model.classes) crc.values(model.classVector(index));
  return crc.hex;
}

/** The numbers of a golden file. */
export function parseGolden(text) {
  const words = text.trim().split(" "), out = {};
  for (let i = 0; i + 1 < words.length; i += 2) out[words[i]] = words[i + 1];
  return out;
}
