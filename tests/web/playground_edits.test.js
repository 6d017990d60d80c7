// Edits on the playground: undone, exported, made by keys alone; and the editor of a class.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { withPage, score, slider, announced, redescribe } = require("./playground_demo.js");
const { DEMO, TOOL, limit, folder, parsnets, trainedModel, until, settled, downloaded, press, pressAndSettle,
  enter, reload, newClass, addClass } = require("./playground.js");

// Runs the commands of an export as a reader who pastes them, in a folder with the model and what was downloaded.
async function runCommands(page, download = null) {
  const work = fs.mkdtempSync(path.join(folder, "export-"));
  if (download) await download.saveAs(path.join(work, download.suggestedFilename()));
  fs.copyFileSync(trainedModel(), path.join(work, path.basename(trainedModel())));
  const script = (await page.locator(".exported pre").textContent()).replace(/^parsnets/gm, '"$TOOL"');
  execFileSync("sh", ["-euc", script], { cwd: work, env: { ...process.env, TOOL }, stdio: "pipe" });
  return work;
}

describe("edits", () => {
  test("are undone and redone, by buttons and by keys", limit, () => withPage(async (page) => {
    const before = await score(page, "deer");
    await redescribe(page, "deer", "horse", { wild: 100, farm: 0 });
    const after = await score(page, "deer");
    const wild = () => slider(page, "wild").inputValue();
    await page.keyboard.press("Control+z");
    await announced(page, /^Undone: farm of deer\.$/);
    assert.equal(await slider(page, "farm").inputValue(), "90");
    assert.equal(await wild(), "100");
    await press(page, "Undo");
    assert.equal(await wild(), "15");
    await page.keyboard.press("Control+Shift+z");
    await announced(page, /^Redone: wild of deer\.$/);
    await press(page, "Redo");
    assert.deepEqual(await score(page, "deer"), after);
    for (let i = 0; i < 4; i += 1) await press(page, "Undo");
    assert.equal(await page.getByRole("button", { name: "Undo" }).isDisabled(), true);
    assert.equal(await page.locator("#editor").isVisible(), false);
    assert.deepEqual(await score(page, "deer"), before);
    // A new edit ends what could be redone.
    await press(page, "Hide ship");
    assert.equal(await page.getByRole("button", { name: "Redo" }).isDisabled(), true);
  }));

  test("are exported as a table that `classes add` takes, with the same answers", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { antlers: 80, mane: 0, wild: 100 });
    const { right } = await score(page, "deer");
    await press(page, "Done");
    const download = await downloaded(page, "Export");
    assert.equal(download.suggestedFilename(), "classes.csv");
    assert.match(await page.locator(".exported pre").textContent(), /^parsnets .+\nparsnets .+$/);
    const model = path.join(await runCommands(page, download), path.basename(trainedModel()));
    const rows = await page.locator('.tile[aria-label^="deer,"]').evaluateAll((nodes) => nodes.map((node) => Number(/sample (\d+)/.exec(node.ariaLabel)[1])));
    const predicted = JSON.parse(parsnets("predict", "--model", model, "--input", path.join(DEMO, "features.npy"), "--top", "1", "--json")).predictions;
    assert.equal(rows.filter((sample) => predicted[sample].top[0].class === "deer").length, right);
  }));

  test("are saved as a bank for the device file that the page's command writes", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { antlers: 80 });
    await press(page, "Done");
    const download = await downloaded(page, "Device bank");
    assert.equal(download.suggestedFilename(), "classes.bank");
    const file = path.join(folder, "classes.bank");
    await download.saveAs(file);
    const work = await runCommands(page);
    const device = fs.readFileSync(path.join(work, path.basename(trainedModel()).replace(".safetensors", ".pnrt")));
    const bank = fs.readFileSync(file);
    assert.equal(bank.toString("latin1", 0, 8), "PNRTBANK");
    assert.equal(bank.readUInt32LE(20), device.readUInt32LE(16), "the bank belongs to that file");
    assert.equal(bank.readUInt32LE(24), 1, "one class is added");
    assert.ok(bank.includes(Buffer.from("deer\0")));
  }));

  test("a class that was redescribed and is deleted comes back as it was", limit, () => withPage(async (page) => {
    const before = await score(page, "deer");
    await redescribe(page, "deer", "ship", {});
    await press(page, "Delete");
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    assert.deepEqual(await score(page, "deer"), before);
    await page.keyboard.press("Control+z");
    assert.match(await page.locator(".class-rows .own").textContent(), /deer yours/);
    assert.match(await page.locator(".class-rows").textContent(), /deer unseen\s*hidden/);
  }));

  test("the commands of an export go when the classes change", limit, () => withPage(async (page) => {
    const commands = page.locator(".exported pre");
    const save = async () => {
      await downloaded(page, "Export");
      await page.waitForSelector(".exported p");
    };
    await press(page, "Hide ship");
    await save();
    assert.match(await commands.textContent(), / --classes ship$/);
    await press(page, "Undo");
    assert.equal(await page.locator(".exported").textContent(), "");
    await save();
    await press(page, "Hide cat");
    assert.equal(await page.locator(".exported").textContent(), "");
  }));

  test("that cannot be used yet are named by an export", limit, () => withPage(async (page) => {
    for (const name of ["horse", "pony"]) await addClass(page, name, "horse");
    for (const button of ["Export", "Device bank"]) {
      await downloaded(page, button);
      assert.equal(await page.locator(".exported .warning").innerText(),
        "Not exported: horse. The model has a class horse. Choose another name, or hide that class.");
    }
  }));

  test("names with commas and quotes are quoted in the commands of an export", limit, () => withPage(async (page) => {
    const name = 'bull, "tame" or farmer\'s';
    await addClass(page, name, "horse");
    const work = await runCommands(page, await downloaded(page, "Export"));
    const listed = parsnets("classes", "list", "--model", path.join(work, path.basename(trainedModel())));
    assert.ok(listed.includes(name), listed);
  }));
});

describe("keyboard", () => {
  test("undoes in a number field the text of that field", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { wild: 100 });
    const number = page.getByLabel("farm, number");
    await number.focus();
    const before = await number.inputValue();
    await number.press("End");
    await page.keyboard.type("5");
    assert.equal(await number.inputValue(), `${before}5`);
    await page.keyboard.press("Control+z");
    assert.equal(await number.inputValue(), before);
    assert.equal(await slider(page, "wild").inputValue(), "100");
    // Also text that Enter has made the value.
    await page.keyboard.press("Control+a");
    await enter(page, "12");
    assert.equal(await slider(page, "farm").inputValue(), "12");
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Tab");
    assert.equal(await slider(page, "farm").inputValue(), before);
    assert.equal(await slider(page, "wild").inputValue(), "100");
  }));

  test("keeps the focus in the attributes of the picture when an edit is undone", limit, () => withPage(async (page) => {
    await pressAndSettle(page, "Hide ship");
    await page.getByRole("tab", { name: "Attributes in the picture" }).click();
    const all = page.getByRole("button", { name: /^Show all \d+ attributes$/ });
    await all.focus();
    const shown = await all.elementHandle();
    await page.keyboard.press("Control+z");
    await announced(page, /^Undone: hide ship\.$/);
    await settled(page);
    assert.equal(await shown.evaluate((node) => node.isConnected), false, "the answer is a new one");
    assert.equal(await all.evaluate((node) => node === document.activeElement), true);
  }));

  async function tabTo(page, selector, key = "Tab") {
    for (let i = 0; i < 300; i += 1) {
      if (await page.evaluate((one) => document.activeElement.matches(one), selector)) return;
      await page.keyboard.press(key);
    }
    assert.fail(`Tab never reaches ${selector}`);
  }

  test("alone reaches a picture and makes a class", limit, () => withPage(async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    await tabTo(page, ".tile");
    const at = () => page.evaluate(() => [...document.querySelectorAll(".tile")].indexOf(document.activeElement));
    assert.equal(await at(), 0);
    await page.keyboard.press("ArrowRight");
    assert.equal(await at(), 1);
    await page.keyboard.press("ArrowDown");
    const below = await at();
    assert.ok(below > 1 && below < 24, `tile ${below}`);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await at(), 0);
    await page.keyboard.press("End");
    assert.equal(await at(), 239);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-pressed")), "true");
    await announced(page, /%\.$/);
    assert.ok(await page.evaluate(() => parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2), "the focus is visible");
    await tabTo(page, "#tab-why");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-attributes");
    await tabTo(page, "#new-class");
    await page.keyboard.press("Enter");
    await page.keyboard.type("zebra");
    await tabTo(page, "#class-base");
    await page.keyboard.press("h");  // more letters may come too slowly to count as one word
    await tabTo(page, "input[type=search]");
    await page.keyboard.type("wild");
    await tabTo(page, "input[type=range]");
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "wild");
    await page.keyboard.press("End");
    await announced(page, /assigned to it/);
    assert.equal(await page.locator("#editor .sentence").textContent(), "Like horse, but with wild 100.");
    await tabTo(page, "#done", "Shift+Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "new-class");
    assert.match(await page.locator(".class-rows .own").textContent(), /zebra yours/);
  }));
});

describe("the editor", () => {
  const open = (page) => page.locator("#editor").isVisible();
  const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.ariaLabel);
  const name = (page) => page.getByRole("textbox", { name: "Name" });

  test("keeps no class that nobody has touched", limit, () => withPage(async (page) => {
    await press(page, "New class", "Done");
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Undo" }).isDisabled(), true);
    await press(page, "New class");
    await reload(page);
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    // One that has been described is kept, also without a name.
    await press(page, "New class");
    await page.getByLabel("Like").selectOption("horse");
    await press(page, "Done");
    assert.match(await page.locator(".class-rows .own").textContent(), /unnamed/);
  }));

  test("is closed by Escape, with the focus where it was", limit, () => withPage(async (page) => {
    await newClass(page, "pony");
    await page.getByLabel("Find attribute").fill("wild");
    await page.keyboard.press("Escape");  // empties the field first
    assert.equal(await open(page), true);
    assert.equal(await page.getByLabel("Find attribute").inputValue(), "");
    await page.keyboard.press("Escape");
    assert.equal(await open(page), false);
    assert.equal(await focused(page), "new-class");
    await press(page, "Edit pony");
    await name(page).fill("foal");
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "Edit foal");
    await press(page, "Redescribe deer");
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "Edit deer");
  }));

  test("is closed by Back, and opened again by Forward", limit, () => withPage(async (page) => {
    const href = page.url();
    await newClass(page, "pony");
    await page.goBack();
    await until(page, () => document.getElementById("editor").hidden);
    assert.equal(page.url(), href);
    assert.match(await page.locator(".class-rows .own").textContent(), /pony/);
    await page.goForward();
    await until(page, () => !document.getElementById("editor").hidden);
    assert.equal(await name(page).inputValue(), "pony");
    // Closed by Done and opened again and again: Back still leaves the page at once.
    for (let i = 0; i < 3; i += 1) {
      await press(page, "Done", "Edit pony");
    }
    await press(page, "Done");
    await page.locator(".skip").press("Enter");
    assert.equal(await focused(page), "pictures");
    await Promise.all([page.waitForURL("about:blank"), page.evaluate(() => window.history.back())]);
  }));

  test("shows on a phone the pictures that the class takes, while sliders move", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { wild: 100 });
    await slider(page, "eats plants").evaluate((node) => node.scrollIntoView({ block: "center" }));
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    const taken = Number(/^(\d+)/.exec(await page.locator("#effect").textContent())[1]);
    assert.equal(await page.locator(".strip span").first().textContent(), `${taken} assigned`);
    const visible = () => page.locator(".strip .picture").evaluateAll((nodes) => nodes.filter((node) => {
      const box = node.getBoundingClientRect();
      const strip = node.parentElement.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= strip.bottom && box.right <= window.innerWidth && strip.bottom <= window.innerHeight;
    }).map((node) => node.style.backgroundPosition));
    const before = await visible();
    assert.ok(before.length >= 6, `${before.length} thumbnails`);
    assert.equal(await page.locator("#grid").evaluate((node) => node.getBoundingClientRect().bottom < 0), true);
    await page.locator(".sliders input[type=range]").evaluateAll((nodes) => nodes.forEach((node) => {
      node.value = 0;
      node.dispatchEvent(new Event("input", { bubbles: true }));
    }));
    await until(page, (number) => document.querySelector(".strip span").textContent !== `${number} assigned`, taken);
  }, { viewport: { width: 360, height: 480 } }));
});
