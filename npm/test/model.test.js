import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { hasSimd, load, ParsNetsError } from "../index.js";
import { goldenSums, parseGolden, streamSample } from "./golden.js";

const runtime = new URL("../../runtime/tests/", import.meta.url);
const demo = new URL("../../examples/device/demo_classes.pnrt", import.meta.url);
const here = new URL("../", import.meta.url);

async function compare(name, wasm, options) {
  const file = await readFile(new URL(`${name}.pnrt`, runtime)), module = await readFile(new URL(wasm, here));
  const expected = parseGolden(await readFile(new URL(`${name}.txt`, runtime), "utf8"));
  const found = await goldenSums(() => load(file, { wasm: module }), options);
  delete expected.learned;  // of what C saves and loads; SaveAndRestore below
  assert.deepEqual(found, expected);
}

test("the modules were built of the runtime as it is: otherwise run npm/build.sh", async () => {
  const lines = (await readFile(new URL("sources.sha256", here), "utf8")).trim().split("\n").map((line) => line.split("  "));
  for (const [sum, file] of lines) assert.equal(createHash("sha256").update(await readFile(new URL(file, here))).digest("hex"), sum, file);
  assert.equal(lines.length, 4);
});

for (const wasm of ["parsnets.wasm", "parsnets-simd.wasm"]) {
  test(`outputs of int8 models are the golden ones with ${wasm}`, async () => {
    await compare("golden", wasm);
    await compare("golden_classes", wasm);
    await compare("golden_rejection", wasm, { rejects: true });
  });
}

test("the module beside the package is found, with SIMD where the host has it", async () => {
  assert.equal(hasSimd(), true);
  const model = await load(await readFile(demo));
  assert.equal(model.features > 0, true);
  assert.equal(model.classes.length > 0, true);
  assert.equal(model.attributeNames.length, model.attributes);
});

test("classes are added, found, removed, and as many as wanted", async () => {
  const model = await load(await readFile(demo)), known = model.classes.length;
  const describe = (i) => Float32Array.from({ length: model.attributes }, (_, j) => (i * 7 + j * 3) % 11);
  for (let i = 0; i < 50; ++i) assert.equal(model.addClass(`new ${i}`, describe(i)), known + i);
  assert.equal(model.classes.length, known + 50);
  assert.equal(model.indexOf("new 49"), known + 49);
  const x = new Float32Array(model.features).fill(0.5);
  const before = model.scores(x)[known + 7];
  model.removeClass("new 3");
  assert.equal(model.indexOf("new 3"), -1);
  assert.equal(model.scores(x)[known + 7], before);
  assert.equal(model.classify(x, { top: 1000 }).matches.length, known + 49);
  const sum = model.classify(x, { top: 1000 }).matches.reduce((total, match) => total + match.confidence, 0);
  assert.ok(Math.abs(sum - 1) < 1e-4);
  const some = model.classify(x, { top: 1000, among: "seen" }).matches;
  assert.deepEqual(new Set(some.map((m) => m.name)), new Set(model.classes.filter((c) => c.seen).map((c) => c.name)));
});

test("what was added and learned is saved and restored", async () => {
  const bytes = await readFile(demo), model = await load(bytes), other = await load(bytes);
  for (let i = 0; i < 20; ++i) model.addClass(`new ${i}`, new Float32Array(model.attributes).fill(i + 1));
  const rows = Array.from({ length: 6 }, (_, i) => Float32Array.from({ length: model.features }, (_, j) => ((i + j) % 5) / 5));
  assert.equal(model.learns, true);
  model.teach("new 3", rows);
  other.restore(model.save());
  assert.deepEqual(other.scores(rows[0]).slice(0, 25), model.scores(rows[0]).slice(0, 25));
  model.forget();
  assert.notDeepEqual(other.scores(rows[0]).slice(0, 25), model.scores(rows[0]).slice(0, 25));
});

test("rows are taken one after the other or as an array of samples", async () => {
  const bytes = await readFile(demo), one = await load(bytes), two = await load(bytes);
  const rows = Array.from({ length: 5 }, (_, i) => Float32Array.from({ length: one.features }, (_, j) => ((i * j) % 7) / 7));
  const flat = new Float32Array(rows.flatMap((row) => [...row]));
  assert.equal(one.adapt(rows), two.adapt(flat));
  assert.deepEqual(one.scores(rows[0]), two.scores(rows[0]));
});

test("adapting moves gamma, and forgetting brings it back", async () => {
  const model = await load(await readFile(new URL("../../runtime/tests/golden_classes.pnrt", import.meta.url)));
  const before = model.gamma, rows = Array.from({ length: 300 }, (_, i) => streamSample(i, model.features));
  assert.ok(model.adapt(rows) > 0);
  assert.ok(model.gamma < before);
  model.forget();
  assert.equal(model.gamma, before);
});

test("an explanation adds up to the difference of the scores", async () => {
  const model = await load(await readFile(demo));
  const why = model.explain(Float32Array.from({ length: model.features }, (_, j) => (j % 9) / 9));
  const sum = why.contributions.reduce((total, v) => total + v, 0) + why.calibration + why.examples;
  assert.ok(Math.abs(sum - (why.winnerScore - why.runnerUpScore)) < 1e-4);
  assert.equal(why.predicted.length, model.attributes);
});

test("errors are exceptions with the status of the runtime, and change nothing", async () => {
  const bytes = new Uint8Array(await readFile(demo)), damaged = bytes.slice();
  damaged[damaged.length - 1] ^= 1;
  const status = (name) => (error) => error instanceof ParsNetsError && error.status === name && error.message.length > 10;
  await assert.rejects(load(damaged), status("DAMAGED"));
  await assert.rejects(load(bytes.slice(0, 100)), status("TRUNCATED"));
  await assert.rejects(load(new Uint8Array(64)), status("NOT_A_MODEL"));
  await assert.rejects(load("model.pnrt"), TypeError);
  const model = await load(bytes), x = new Float32Array(model.features), a = new Float32Array(model.attributes).fill(1);
  const before = model.scores(x);
  assert.throws(() => model.classify(x.slice(1)), TypeError);
  assert.throws(() => model.classify(x, { among: "some" }), TypeError);
  assert.throws(() => model.classify(x, { top: 0 }), TypeError);
  assert.throws(() => model.classify(x.map(() => NaN)), status("NOT_FINITE"));
  assert.throws(() => model.addClass("", a), status("BAD_NAME"));
  assert.throws(() => model.addClass("é".repeat(40), a), status("BAD_NAME"));
  assert.throws(() => model.addClass(model.classes[0].name, a), status("EXISTS"));
  assert.throws(() => model.removeClass("nobody"), status("NOT_FOUND"));
  assert.throws(() => model.restore(new Uint8Array(40)), status("NOT_A_MODEL"));
  assert.deepEqual(model.scores(x), before);
});

test("a model works in a worker", async () => {
  const source = `
    import { parentPort, workerData } from "node:worker_threads";
    const { load } = await import(workerData.module);
    const model = await load(workerData.bytes);
    parentPort.postMessage(model.classify(workerData.x).matches[0].name);`;
  const bytes = await readFile(demo), model = await load(bytes), x = new Float32Array(model.features).fill(0.25);
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`),
    { workerData: { module: new URL("../index.js", import.meta.url).href, bytes, x } });
  const name = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  assert.equal(name, model.classify(x).matches[0].name);
});
