// Photographs dropped on the playground, read by the tiny network of scripts/tiny_backbone.py.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { DEMO, PATIENCE, ROOT, limit, folder, parsnets, trainedModel, serve, startedServer, until, settled, hold, press,
  pressAndSettle, problemOf } = require("./playground.js");

const photos = path.join(folder, "photos");
const started = startedServer(() => {
  const script = (name, ...args) => execFileSync("/usr/bin/python3", [path.join(ROOT, "scripts", name), ...args], { stdio: "pipe", timeout: 5 * PATIENCE });
  const backbone = path.join(folder, "tiny.onnx");
  const data = path.join(folder, "data");
  script("tiny_backbone.py", "--out", backbone);
  script("demo_photos.py", "--out", photos);
  parsnets("extract", "--images", photos, "--backbone", backbone, "--attributes", path.join(DEMO, "attributes.csv"), "--out", data, "--quiet");
  fs.copyFileSync(path.join(DEMO, "split.json"), path.join(data, "split.json"));
  return ["--model", trainedModel(data), "--data", data, "--backbone", backbone];
});
const { withPage } = started;

// Every tenth photograph of a class.
function filesOf(name) {
  return fs.readdirSync(path.join(photos, name)).filter((_, i) => i % 10 === 0).map((file) => path.join(photos, name, file));
}

// As a file manager or the clipboard hands files over.
function give(page, type, files) {
  return page.evaluate(([kind, list]) => {
    const transfer = new DataTransfer();
    for (const { name, base64 } of list) {
      transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name, { type: "image/png" }));
    }
    const event = kind === "paste" ? new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true })
      : new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
  }, [type, files.map((file) => ({ name: path.basename(file), base64: fs.readFileSync(file).toString("base64") }))]);
}

// As a reader does with the mouse; folders, too.
async function drop(page, files) {
  const devtools = await page.context().newCDPSession(page);
  for (const type of ["dragEnter", "dragOver", "drop"]) {
    await devtools.send("Input.dispatchDragEvent", { type, x: 200, y: 300, data: { items: [], files, dragOperationsMask: 1 } });
  }
}

describe("photographs", () => {
  test("of unseen classes are recognised better than by chance", limit, () => withPage(async (page) => {
    const files = [...filesOf("deer"), ...filesOf("truck")];
    await page.locator("#photo-file").setInputFiles(files);
    await until(page, (number) => document.querySelectorAll(".group:first-child .tile").length === number, files.length);
    await settled(page);
    const labels = await page.locator(".group").first().locator(".tile").evaluateAll((nodes) => nodes.map((node) => node.ariaLabel));
    const right = files.filter((file) => labels.includes(`${path.basename(file)}: ${path.basename(path.dirname(file))}`)).length;
    // 48 photographs, ten classes: 12 right have a chance of 0.3 % by guessing.
    assert.equal(files.length, 48);
    assert.ok(right >= 12, `${right} of 48`);
  }));

  test("the page's answer is that of the command line", limit, () => withPage(async (page) => {
    const [file] = filesOf("ship");
    await page.locator("#photo-file").setInputFiles(file);
    await until(page, () => document.querySelector(".verdict .note").textContent.endsWith(".png"));
    const predicted = JSON.parse(parsnets("predict", "--model", trainedModel(path.join(folder, "data")), "--backbone", path.join(folder, "tiny.onnx"),
      "--input", file, "--top", "5", "--json")).predictions[0].top;
    const shown = await page.locator(".bars .class-tag").allTextContents();
    assert.deepEqual(shown.map((text) => /(\w+) (?:seen|unseen)$/.exec(text)[1]), predicted.map((one) => one.class));
    assert.equal(await page.locator(".why tbody tr").count() > 0, true);
  }));

  test("are dropped and pasted, and follow edits of the classes", limit, () => withPage(async (page) => {
    const [first, second] = filesOf("truck");
    await give(page, "dragenter", [first]);
    assert.equal(await page.locator("#drop").isVisible(), true);
    await give(page, "drop", [first]);
    assert.equal(await page.locator("#drop").isVisible(), false);
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 1);
    await give(page, "paste", [second]);
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 2);
    await settled(page);
    const best = await page.locator(".verdict-name").textContent();
    await pressAndSettle(page, `Hide ${best.split(" ")[0]}`);
    assert.notEqual((await page.locator(".verdict-name").textContent()).split(" ")[0], best.split(" ")[0]);
    await press(page, "Remove them");
    assert.equal(await page.locator(".tile").count(), 240);
    await until(page, () => document.querySelector(".verdict .note").textContent.startsWith("Its label is"));
  }));

  test("have a place in the grid while they are read", limit, () => withPage(async (page) => {
    const files = filesOf("truck").slice(0, 3);
    const release = await hold(page, "**/v1/predict*");
    await page.locator("#photo-file").setInputFiles(files);
    const places = page.locator(".group:first-child .placeholder");
    await until(page, () => document.querySelectorAll(".placeholder").length === 3);
    assert.deepEqual(await places.evaluateAll((nodes) => nodes.map((node) => node.ariaLabel)), files.map((file) => `Reading ${path.basename(file)}`));
    assert.equal(await page.locator(".group:first-child .tile").count(), 0);
    await release();
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 3);
    assert.equal(await places.count(), 0);
  }));

  test("that are dropped while the server is away are sent when it is back", limit, async () => {
    const first = await serve([...started.args, "--port", "0"]);
    await withPage(async (page) => {
      const files = filesOf("truck").slice(0, 2);
      await settled(page);
      await first.stop();
      await give(page, "drop", files);
      assert.match(await problemOf(page), /^The server does not answer\./);
      assert.equal(await page.locator(".placeholder").count(), 2);
      await give(page, "paste", filesOf("deer").slice(0, 1));
      assert.equal(await page.locator(".placeholder").count(), 3);
      const second = await serve([...started.args, "--port", new URL(first.url).port]);
      await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 3);
      assert.equal(await page.locator(".placeholder").count(), 0);
      await page.waitForSelector("#problem", { state: "hidden" });
      await second.stop();
    }, { url: first.url, expected: /Failed to load resource/ });
  });

  test("that are removed while they are read stay away", limit, () => withPage(async (page) => {
    const release = await hold(page, "**/v1/predict*");
    await page.locator("#photo-file").setInputFiles(filesOf("truck").slice(0, 2));
    await until(page, () => document.querySelectorAll(".placeholder").length === 2);
    await press(page, "Remove them");
    assert.equal(await page.locator(".placeholder").count(), 0);
    await release();
    await settled(page);
    await page.locator("#photo-file").setInputFiles(filesOf("deer")[0]);
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 1);
    assert.equal(await page.locator(".tile").count(), 241);
  }));

  test("that cannot be read are named, and why", limit, () => withPage(async (page) => {
    const [broken, short, note] = ["broken.png", "short.png", "note.txt"].map((name) => path.join(folder, name));
    for (const file of [short, note]) fs.writeFileSync(file, "no photograph");
    fs.writeFileSync(broken, fs.readFileSync(filesOf("cat")[0]).subarray(0, 200));
    for (const [file, problem] of [[note, /^note\.txt: .{10,}\.$/], [broken, /^broken\.png: .{10,}\.$/]]) {
      await page.locator("#photo-file").setInputFiles(file);
      assert.match(await problemOf(page), problem);
      await press(page, "Close");
    }
    await page.locator("#photo-file").setInputFiles([broken, filesOf("cat")[0], short]);
    await until(page, () => /short/.test(document.querySelector("#problem p").textContent));
    assert.match(await page.locator("#problem p").innerText(), /^broken\.png: .{10,}\.\nshort\.png: .{10,}\.$/);
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 1);
    await press(page, "Close");
    assert.equal(await page.locator("#problem").isVisible(), false);
  }, { expected: /Failed to load resource/ }));

  test("that are too many push out the oldest, which is said", limit, () => withPage(async (page) => {
    const files = fs.readdirSync(path.join(photos, "cat")).slice(0, 66).map((file) => path.join(photos, "cat", file));
    await page.locator("#photo-file").setInputFiles(files);
    await until(page, () => !document.querySelector(".placeholder") && document.querySelector(".group:first-child #remove-photos"));
    const labels = await page.locator(".group").first().locator(".tile").evaluateAll((nodes) => nodes.map((node) => node.ariaLabel.split(":")[0]));
    assert.deepEqual(labels, files.slice(2).map((file) => path.basename(file)).reverse());
    assert.equal(await page.locator("#problem p").textContent(), "Only the newest 64 photos are kept.");
  }));

  test("that vanish before they are read are named, and the next one is read", limit, () => withPage(async (page) => {
    const [first, last] = filesOf("cat");
    const gone = path.join(folder, "gone.png");
    fs.copyFileSync(last, gone);
    await settled(page);
    const release = await hold(page, "**/v1/predict*");
    await page.locator("#photo-file").setInputFiles([first, gone, last]);
    await until(page, () => document.querySelectorAll(".placeholder").length === 3);
    fs.rmSync(gone);
    await release();
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 2);
    assert.equal(await page.locator(".placeholder").count(), 0);
    assert.equal(await page.locator("#problem p").textContent(), "gone.png: the file cannot be read.");
  }));

  test("are dropped beside a folder, which is named", limit, () => withPage(async (page) => {
    await drop(page, [path.join(photos, "cat"), filesOf("cat")[0]]);
    await until(page, () => document.querySelectorAll(".group:first-child .tile").length === 1);
    assert.equal(await page.locator(".placeholder").count(), 0);
    assert.equal(await page.locator("#problem p").textContent(), "cat: the file cannot be read.");
  }));
});

test("pictures of samples that cannot be had while the server is away come when it is back", limit, async () => {
  const start = (port) => serve([...started.args, "--images", photos, "--port", port]);
  const first = await start("0");
  const shown = (page, place) => until(page, (at) => [...document.querySelectorAll("#grid .picture")].at(at).style.backgroundImage, place);
  await withPage(async (page) => {
    await shown(page, 0);
    await first.stop();
    await page.locator(".tile").last().scrollIntoViewIfNeeded();
    await page.waitForSelector("#problem:not([hidden])");
    const second = await start(new URL(first.url).port);
    await page.waitForSelector("#problem", { state: "hidden" });
    await shown(page, -1);
    await second.stop();
  }, { url: first.url, expected: /Failed to load resource/ });
});
