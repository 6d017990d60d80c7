// The page of `parsnets page`, opened from the disk with the network switched off.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, describe, test } = require("node:test");
const { pathToFileURL } = require("node:url");
const { SCREENS, assertFitsAndIsAccessible, launch } = require("./pages.js");
const { DEMO, PATIENCE, limit, folder, parsnets, trainedModel, openPlayground, settled, downloaded, press, problemOf, score, redescribe } = require("./playground.js");

const file = path.join(folder, "offline.html"), device = path.join(folder, "offline.pnrt");
let browser;

before(async () => {
  parsnets("page", trainedModel(), "--data", DEMO, "--out", file);
  parsnets("export", trainedModel(), "--out", device);
  browser = await launch();
}, { timeout: 10 * PATIENCE });
after(() => browser.close());

// No request leaves the page, and the browser could not send one.
async function withPage(work, options = {}) {
  const view = await openPlayground(browser, pathToFileURL(file).href, { isOwn: (url) => url === pathToFileURL(file).href, offline: true, ...options });
  try {
    await settled(view.page);
    await work(view.page);
    assert.deepEqual(view.problems, []);
  } finally {
    await view.context.close();
  }
}

// The rows of the data set that the page shows of a class, and how many of them the tool calls by that name.
async function judged(page, name, model) {
  const rows = await page.locator(`.tile[aria-label^="${name},"]`).evaluateAll((nodes) => nodes.map((node) => Number(/sample (\d+)/.exec(node.ariaLabel)[1])));
  const told = JSON.parse(parsnets("predict", "--model", model, "--input", path.join(DEMO, "features.npy"), "--top", "1", "--json")).predictions;
  return { all: rows.length, right: rows.filter((row) => told[row].top[0].class === name).length };
}

describe("the page without a server", () => {
  test("has the policy of the report and WebAssembly, and nothing else", limit, () => withPage(async (page) => {
    assert.equal(await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content"),
      "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:");
    assert.equal(await page.evaluate(() => navigator.onLine), false);
    assert.equal(await page.getByRole("button", { name: "Label six" }).count(), 0);
    const refused = await page.evaluate(() => new Promise((resolve) => {
      document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true });
      fetch("https://example.org/").catch(() => {});
    }));
    assert.equal(refused, "connect-src");
  }, { expected: /Content Security Policy|example\.org/ }));

  test("classifies as the device file does, before and after a class is described anew", limit, () => withPage(async (page) => {
    assert.deepEqual(await score(page, "deer"), await judged(page, "deer", device));
    assert.deepEqual(await score(page, "ship"), await judged(page, "ship", device));
    const before = await score(page, "deer");
    await redescribe(page, "deer", "horse", { antlers: 80, mane: 0, wild: 100 });
    assert.notDeepEqual(await score(page, "deer"), before);
    for (let i = 0; i < 5; i += 1) await press(page, "Undo");
    assert.deepEqual(await score(page, "deer"), before);
  }));

  test("adapts unseen classes to the pictures, and forgets it", limit, () => withPage(async (page) => {
    const both = async () => [await score(page, "deer"), await score(page, "truck")];
    const confidences = () => page.locator(".bars li").allTextContents();
    const before = await both(), said = await confidences();
    await page.getByLabel("Adapt to the pictures").check();
    await settled(page);
    const adapted = await confidences();
    assert.notDeepEqual(adapted, said);
    await page.getByLabel("Adapt to the pictures").uncheck();
    assert.deepEqual(await both(), before);
    assert.deepEqual(await confidences(), said);
  }));

  test("exports the class set as a table that the tool takes, and as a bank of its own device file", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { antlers: 80 });
    await press(page, "Done");
    const table = path.join(folder, "offline.csv"), bank = path.join(folder, "offline.bank"), changed = path.join(folder, "offline.safetensors");
    await (await downloaded(page, "Export")).saveAs(table);
    const deer = fs.readFileSync(table, "utf8").split("\n").filter((line) => /^(class|deer),/.test(line));
    assert.equal(deer.length, 2);
    fs.writeFileSync(table, `${deer.join("\n")}\n`);
    parsnets("classes", "remove", "--model", trainedModel(), "--classes", "deer", "--out", changed);
    parsnets("classes", "add", "--model", changed, "--attributes", table);
    await (await downloaded(page, "Device bank")).saveAs(bank);
    const bytes = fs.readFileSync(bank);
    assert.equal(bytes.toString("latin1", 0, 8), "PNRTBANK");
    assert.equal(bytes.readUInt32LE(20), fs.readFileSync(device).readUInt32LE(16), "the bank belongs to the device file of `export`");
    assert.ok(bytes.includes(Buffer.from("deer\0")));
  }));

  test("says of a photograph that it has no backbone", limit, () => withPage(async (page) => {
    assert.match(await page.locator("#photo-hint").textContent(), /no backbone/);
    await page.evaluate(() => window.dispatchEvent(new DragEvent("drop", { cancelable: true })));
    assert.match(await problemOf(page), /no backbone/);
  }));

  for (const [scheme, width] of SCREENS(1366, 360)) {
    test(`no overflow, no axe violation: ${scheme}, ${width} px`, limit, () => withPage(async (page) => {
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
      await assertFitsAndIsAccessible(page, `${scheme}, ${width} px`);
    }, { colorScheme: scheme, viewport: { width, height: 768 } }));
  }
});
