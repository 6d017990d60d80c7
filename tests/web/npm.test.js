// The npm package in Chromium: in a page with a strict Content-Security-Policy, and in a worker.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const { after, before, test } = require("node:test");
const { launch } = require("./pages.js");

const ROOT = path.join(__dirname, "..", "..");

const TYPES = { ".js": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'";
const PAGES = {
  "/page.html": "<!doctype html><title>package</title><script type=module src=/page.js></script>",
  "/page.js": "import * as parsnets from '/npm/index.js'; import * as golden from '/npm/test/golden.js';" +
    "globalThis.parsnets = parsnets; globalThis.golden = golden;",
  "/worker.js": "import { load } from '/npm/index.js';" +
    "onmessage = async ({ data: { bytes, x } }) =>" +
    "  postMessage((await load(bytes)).classify(x, { top: 2 }).matches.map((m) => m.name));",
};

let browser, page, server, address;

before(async () => {
  server = http.createServer((request, response) => {
    const name = new URL(request.url, "http://localhost").pathname, file = path.join(ROOT, name);
    const body = PAGES[name] ?? (fs.existsSync(file) && fs.statSync(file).isFile() ? fs.readFileSync(file) : null);
    response.writeHead(body === null ? 404 : 200, {
      "Content-Type": TYPES[path.extname(name)] ?? "application/octet-stream", "Content-Security-Policy": POLICY });
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}`;
  browser = await launch();
  page = await browser.newPage();
  page.on("pageerror", (error) => assert.fail(error));
  await page.goto(`${address}/page.html`);
  await page.waitForFunction(() => globalThis.golden);
});

after(async () => {
  await browser?.close();
  server?.close();
});

for (const wasm of ["parsnets.wasm", "parsnets-simd.wasm"])
  for (const model of ["golden", "golden_classes", "golden_rejection"])
    test(`Chromium gives the golden outputs of ${model} with ${wasm}`, async () => {
      const [found, expected] = await page.evaluate(async ([model, wasm]) => {
        const get = async (url) => (await fetch(url)).arrayBuffer();
        const file = await get(`/runtime/tests/${model}.pnrt`), module = await get(`/npm/${wasm}`);
        const text = new TextDecoder().decode(await get(`/runtime/tests/${model}.txt`));
        return [await golden.goldenSums(() => parsnets.load(file, { wasm: module }),
          { rejects: model === "golden_rejection" }), golden.parseGolden(text)];
      }, [model, wasm]);
      delete expected.learned;
      assert.deepEqual(found, expected);
    });

test("the package finds its module, and gives the same in a worker", async () => {
  const [here, there] = await page.evaluate(async () => {
    const bytes = await (await fetch("/examples/device/demo_classes.pnrt")).arrayBuffer();
    const model = await parsnets.load(bytes), x = new Float32Array(model.features).fill(0.25);
    const worker = new Worker("/worker.js", { type: "module" });
    const answer = new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
    });
    worker.postMessage({ bytes, x });
    return [model.classify(x, { top: 2 }).matches.map((m) => m.name), await answer];
  });
  assert.equal(here.length, 2);
  assert.deepEqual(here, there);
});
