// What runtime/tests/cortex_m.c computes, with a module of the package: its CRC-32, and nanoseconds of a prediction.
// Usage: target.js MODULE.wasm MODEL.pnrt
import { readFileSync } from "node:fs";
import { load } from "../index.js";
import { Crc, random, streamSample } from "./golden.js";

const PREDICTIONS = 20, ADAPTED = 100, TIMED = 2000;
const [module, file] = process.argv.slice(2);
const model = await load(new Uint8Array(readFileSync(file)), { wasm: new Uint8Array(readFileSync(module)) });
const crc = new Crc(), next = random(2);
const samples = Array.from({ length: ADAPTED }, (_, i) => streamSample(i, model.features));
model.addClass("added", Float32Array.from({ length: model.attributes }, next));
for (const x of samples.slice(0, PREDICTIONS))
  for (const match of model.classify(x, { top: 3 }).matches) {
    crc.integers(match.index);
    crc.floats(match.score, match.confidence);
  }
const start = process.cpuUsage();
for (let i = 0; i < TIMED; ++i) model.classify(samples[i % PREDICTIONS], { top: 3 });
const { user, system } = process.cpuUsage(start), nanoseconds = Math.round((1e3 * (user + system)) / TIMED);
let last = samples[PREDICTIONS - 1];
if (model.learns) {
  for (const x of samples) model.adapt([x]);
  for (const { index } of model.classes) crc.values(model.classVector(index));
  last = samples[ADAPTED - 1];
}
const why = model.explain(last);
crc.integers(model.indexOf(why.winner), model.indexOf(why.runnerUp));
crc.floats(why.winnerScore, why.runnerUpScore, why.calibration, why.examples);
crc.values(why.contributions);
console.log(`crc ${crc.hex.replace(/^0+(?=.)/, "")} nanoseconds ${nanoseconds}`);
