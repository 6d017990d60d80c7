// Size and speed beside onnxruntime-web, both in WebAssembly on one thread, in one run: the same device file through this
// package, and as an ONNX graph of the same arithmetic. Usage: bench.js FOLDER FLOAT32.pnrt INT8.pnrt
// FOLDER has onnxruntime-web in its node_modules (make npm-bench installs it there).
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { pathToFileURL, fileURLToPath } from "node:url";
import { load } from "../index.js";
import { streamSample } from "../test/golden.js";
import { onnxModel, readModel } from "./onnx.js";

const SAMPLES = 200, ROUNDS = 10, TOLERANCE = 1e-4;
const [folder, floatFile, roundedFile] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url)), dist = path.join(path.resolve(folder), "node_modules/onnxruntime-web/dist");
const require = createRequire(import.meta.url);
const ort = await import(pathToFileURL(path.join(dist, "ort.wasm.min.mjs")));
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = `${pathToFileURL(dist)}/`;
ort.env.logLevel = "error";

const read = (file) => new Uint8Array(readFileSync(file));
const whole = await load(read(floatFile)), rounded = await load(read(roundedFile));
const graph = onnxModel(readModel(read(floatFile)));
const session = await ort.InferenceSession.create(graph, { executionProviders: ["wasm"] });
const samples = Array.from({ length: SAMPLES }, (_, i) => streamSample(i, whole.features));

const best = (scores) => scores.reduce((most, v, i) => (v > scores[most] ? i : most), 0);
const byOnnx = async (x) => (await session.run({ x: new ort.Tensor("float32", x, [1, x.length]) })).scores.data;
let difference = 0, same = 0;
for (const x of samples) {
  const ours = whole.scores(x), theirs = await byOnnx(x);
  for (let c = 0; c < theirs.length; ++c) difference = Math.max(difference, Math.abs(ours[c] - theirs[c]));
  same += best(rounded.scores(x)) === best(Array.from(theirs)) ? 1 : 0;
}
if (!(difference <= TOLERANCE)) throw new Error(`the scores differ by ${difference}: not the same arithmetic`);

// Rounds take turns, so that what else the machine does reaches all; the median of the rounds' means.
const ways = [
  ["parsnets, int8", async (x) => rounded.scores(x)],
  ["parsnets, float32", async (x) => whole.scores(x)],
  ["onnxruntime-web, float32", byOnnx],
];
const times = ways.map(() => []);
for (let round = 0; round <= ROUNDS; ++round)
  for (const [i, [, run]] of ways.entries()) {
    const start = performance.now();
    for (const x of samples) await run(x);
    if (round > 0) times[i].push((1000 * (performance.now() - start)) / SAMPLES);
  }

const size = (...files) => [files.reduce((sum, file) => sum + statSync(file).size, 0),
  files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0)];
const ours = size(path.join(here, "../index.js"), path.join(here, "../parsnets-simd.wasm"));
const theirs = size(path.join(dist, "ort.wasm.min.mjs"), path.join(dist, "ort-wasm-simd-threaded.mjs"), path.join(dist, "ort-wasm-simd-threaded.wasm"));
const row = (...cells) => console.log(`| ${cells.join(" | ")} |`), kilo = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;
row("in Node.js, one thread", "code", "compressed", "model", "us per sample");
row("---", "---:", "---:", "---:", "---:");
ways.forEach(([name], i) => {
  const median = times[i].sort((a, b) => a - b)[ROUNDS / 2];
  const [code, packed] = i < 2 ? ours : theirs, model = [statSync(roundedFile).size, statSync(floatFile).size, graph.length][i];
  row(name, kilo(code), kilo(packed), kilo(model), median.toFixed(1));
});
const { version } = require(path.join(path.resolve(folder), "node_modules/onnxruntime-web/package.json"));
console.log(`onnxruntime-web ${version}, Node.js ${process.versions.node}; scores differ by at most ${difference.toExponential(1)} (float32); ` +
  `int8 has the same best class for ${same} of ${SAMPLES} samples`);
