// Photographs dropped on the page of `parsnets page --backbone`, opened from the disk with the network switched off.
// onnxruntime-web is taken from where `make npm-bench` puts it, or from $ONNXRUNTIME_WEB (its folder dist); without it,
// and without the module for photographs, the exit code is 77. BACKBONE=FILE.onnx: another network than those of the
// tests.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, describe, test } = require("node:test");
const { pathToFileURL } = require("node:url");

const FILES = ["ort.wasm.min.js", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"];
const root = path.join(__dirname, "..", "..");
const runtime = [process.env.ONNXRUNTIME_WEB, ...["out", "build"].map((place) => path.join(root, place, "npm-bench/node_modules/onnxruntime-web/dist"))]
  .find((place) => place && FILES.every((file) => fs.existsSync(path.join(place, file))));
const missing = [!runtime && "onnxruntime-web: run `make npm-bench`, or name its folder dist in ONNXRUNTIME_WEB",
  !fs.existsSync(path.join(__dirname, "node_modules")) && "Playwright: run `npm ci` in tests/web",
  spawnSync("/usr/bin/python3", ["-c", "import PIL"]).status !== 0 && "PIL for Python",
  !fs.existsSync(path.join(path.dirname(process.env.PARSNETS || path.join(root, "build/parsnets")), "parsnets-backbones.so")) && "the module for photographs"].filter(Boolean);
if (missing.length) {
  console.log(`SKIPPED, photographs in the page without a server are NOT tested: without ${missing.join("; ")}`);
  process.exit(77);
}

const { launch } = require("./pages.js");
const { DEMO, PATIENCE, TOOL, limit, folder, parsnets, trainedModel, openPlayground, until, settled, problemOf } = require("./playground.js");

const photos = path.join(folder, "photos"), own = path.join(folder, "own");
const out = path.join(folder, "page");  // the runtime lies beside the pages
const script = (name, ...args) => execFileSync("/usr/bin/python3", [...name, ...args], { stdio: "pipe", timeout: 5 * PATIENCE });
let browser;

// Larger and smaller than the network's input, of odd sizes; one on its side and marked so.
const OWN = `
import sys
from pathlib import Path
from PIL import Image
photos, out = map(Path, sys.argv[1:])
def big(name, size):
    return Image.open(sorted((photos / name).iterdir())[3]).convert("RGB").resize(size, Image.BICUBIC)
out.mkdir()
big("horse", (411, 307)).save(out / "1.jpg", quality=90)
big("truck", (301, 500)).save(out / "2.png")
turned = Image.Exif()
turned[0x0112] = 6
big("ship", (640, 480)).save(out / "3.jpg", quality=85, subsampling=0, exif=turned)
big("deer", (333, 222)).save(out / "4.webp", quality=90)
big("cat", (150, 149)).save(out / "5.bmp")
big("frog", (20, 24)).save(out / "6.png")
`;

// Two ways to read the same network: as it is made, and all that differs otherwise.
const KINDS = process.env.BACKBONE ? { plain: {} } : {
  plain: {},
  other: { preset: "torchvision", fit: "centre", layer: "quadrants", pool: "both" },
  caffe: { preset: "caffe" },
};
const made = {};

before(async () => {
  script([path.join(root, "scripts/demo_photos.py")], "--out", photos);
  fs.mkdirSync(out);
  for (const file of FILES) fs.copyFileSync(path.join(runtime, file), path.join(out, file));
  script(["-c", OWN], photos, own);
  for (const name of ["ship", "truck", "deer"]) {
    const [file] = fs.readdirSync(path.join(photos, name));
    fs.copyFileSync(path.join(photos, name, file), path.join(own, `${name}-${file}`));
  }
  for (const [kind, changes] of Object.entries(KINDS)) {
    const backbone = path.join(folder, `${kind}.onnx`), card = path.join(folder, `${kind}.json`), data = path.join(folder, `data-${kind}`);
    if (process.env.BACKBONE) {
      fs.copyFileSync(process.env.BACKBONE, backbone);
      fs.copyFileSync(process.env.BACKBONE.replace(/onnx$/, "json"), card);
    } else script([path.join(root, "scripts/tiny_backbone.py")], "--out", backbone);
    fs.writeFileSync(card, JSON.stringify({ ...JSON.parse(fs.readFileSync(card)), ...changes }));
    parsnets("extract", "--images", photos, "--backbone", backbone, "--attributes", path.join(DEMO, "attributes.csv"), "--out", data, "--quiet");
    fs.copyFileSync(path.join(DEMO, "split.json"), path.join(data, "split.json"));
    const page = path.join(out, `${kind}.html`), model = trainedModel(data);
    parsnets("page", model, "--data", data, "--backbone", backbone, "--out", page);
    const device = path.join(folder, `${kind}.pnrt`);
    parsnets("export", model, "--out", device);
    made[kind] = { backbone, data, page, model, device };
  }
  console.log(`a page has ${(fs.statSync(made.plain.page).size / 1e6).toFixed(1)} MB`);
  browser = await launch();
}, { timeout: 20 * PATIENCE });
after(() => browser && browser.close());

async function withPage(kind, work) {
  const { href } = pathToFileURL(made[kind].page);
  const watch = (page) => page.addInitScript(() => {
    window.featuresSeen = [];
    const Original = window.Response;
    window.Response = class extends Original {
      constructor(body, ...rest) {
        super(body, ...rest);
        if (typeof body === "string" && body.startsWith('{"features":')) window.featuresSeen.push(JSON.parse(body).features[0]);
      }
    };
  });
  const view = await openPlayground(browser, href, { isOwn: (url) => url === href, offline: true, before: watch });
  try {
    await settled(view.page);
    assert.equal(await view.page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content"),
      "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:");
    await work(view.page);
    assert.deepEqual(view.problems, []);
  } finally {
    await view.context.close();
  }
}

// What the command line makes of the files: features, and the class that the device file of the page says.
function told(kind, files) {
  const { backbone, model, device } = made[kind];
  const list = path.join(folder, `list-${kind}`);
  fs.mkdirSync(path.join(list, "x"), { recursive: true });
  for (const file of files) fs.copyFileSync(file, path.join(list, "x", path.basename(file)));
  const data = path.join(folder, `told-${kind}`);
  parsnets("extract", "--images", list, "--backbone", backbone, "--out", data, "--quiet");
  const bytes = fs.readFileSync(path.join(data, "features.npy")), start = 10 + bytes.readUInt16LE(8);
  const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length)), d = values.length / files.length;
  const { predictions } = JSON.parse(parsnets("predict", "--model", device, "--input", path.join(data, "features.npy"), "--top", "1", "--json"));
  return files.map((_, i) => ({ features: values.subarray(i * d, (i + 1) * d), name: predictions[i].top[0].class, model }));
}

describe("photographs on the page without a server", () => {
  for (const kind of Object.keys(KINDS)) {
    test(`have the features of \`parsnets extract\`, and its classes: ${kind}`, limit, () => withPage(kind, async (page) => {
      const files = fs.readdirSync(own).sort().map((name) => path.join(own, name));
      const expected = told(kind, files);
      await page.locator("#photo-file").setInputFiles(files);
      await until(page, (number) => document.querySelectorAll(".group:first-child .tile").length === number || !document.querySelector("#problem").hidden, files.length);
      assert.equal(await page.locator("#problem p").textContent(), "");
      await settled(page);
      const seen = await page.evaluate(() => window.featuresSeen);
      assert.equal(seen.length, files.length);
      const labels = await page.locator(".group").first().locator(".tile").evaluateAll((nodes) => nodes.map((node) => node.ariaLabel));
      files.forEach((file, i) => {
        const { features, name } = expected[i];
        assert.equal(seen[i].length, features.length);
        const largest = Math.max(...features.map(Math.abs)), far = Math.max(...features.map((v, j) => Math.abs(v - seen[i][j]))) / largest;
        console.log(`${kind} ${path.basename(file)}: largest difference ${far.toExponential(1)} of the largest feature, ${name}`);
        assert.ok(far < 1e-5, `${path.basename(file)}: ${far}`);
        assert.ok(labels.some((label) => label.startsWith(`${path.basename(file)}: ${name}`)), `${path.basename(file)}: ${name} in ${labels}`);
      });
    }));
  }

  test("that no browser reads are refused by name", limit, () => withPage("plain", async (page) => {
    const broken = path.join(folder, "broken.jpg");
    fs.writeFileSync(broken, "no photograph");
    await page.locator("#photo-file").setInputFiles(broken);
    assert.match(await problemOf(page), /broken\.jpg.*: expected a complete JPEG/);
  }));

  test("need the files of onnxruntime-web, which are asked for by name", limit, () => {
    const { model, backbone } = made.plain;
    const refused = (...args) => spawnSync(TOOL, ["page", model, "--backbone", backbone, ...args], { encoding: "utf8" });
    const none = refused("--out", path.join(folder, "none.html"));
    assert.equal(none.status, 3, none.stderr);
    assert.match(none.stderr, /ort\.wasm\.min\.js.*npm install --prefix/);
    const place = path.join(folder, "damaged");
    fs.mkdirSync(place);
    for (const file of FILES) fs.writeFileSync(path.join(place, file), "something else");
    const other = refused("--out", path.join(place, "page.html"));
    assert.equal(other.status, 3, other.stderr);
    assert.match(other.stderr, /ort\.wasm\.min\.js: expected a script/);
    assert.equal(fs.existsSync(path.join(place, "page.html")), false);
  });
});
