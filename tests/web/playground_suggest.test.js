// Pictures that a reader labels on the playground: which they are, what the labels change, and undo.
"use strict";

const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const { started, withPage } = require("./playground_demo.js");
const { assertFitsAndIsAccessible } = require("./pages.js");
const { limit, until, settled, press, pressAndSettle, announced, problemOf } = require("./playground.js");

const asJson = async (answer) => (await answer).json();

// Presses "Label six", and gives the ids of the samples that the page asks about.
async function ask(page) {
  const [request] = await Promise.all([page.waitForRequest("**/v1/suggest"), press(page, "Label six")]);
  await page.waitForSelector("#labelling:not([hidden])");
  const { suggestions } = await asJson(page.request.post("/v1/suggest", { data: JSON.parse(request.postData()) }));
  const notes = await page.locator("#labelling li .note").allTextContents();
  assert.deepEqual(notes, suggestions.map((one) => `Classified as ${one.guess}`));
  return suggestions.map((one) => one.sample);
}

const classesOf = async (page, bank) => (await asJson(page.request.post("/v1/predict", { data: { samples: "all", top: 1, reject: true, bank } })))
  .predictions.map((one) => one.classes[0].class);

// With the server's address before the paths of requests.
const withServer = (work) => withPage(work, { baseURL: started.server.url });

describe("label six", () => {
  test("teaches the labels, counts what they change on other pictures, and is undone", limit, () => withServer(async (page) => {
    const { samples } = await asJson(page.request.get("/v1/samples"));
    const ids = await ask(page);
    assert.equal(ids.length, 6);
    assert.equal(await page.locator("#grid").isVisible(), false);
    assert.equal(await page.evaluate(() => document.activeElement === document.querySelector("#labelling select")), true);
    assert.doesNotMatch(await page.locator("#labelling .picture").first().evaluate((node) => node.outerHTML), /sample/);
    // Five by name, by keys alone; the last is skipped.
    const labelled = ids.slice(0, 5);
    for (const id of labelled) {
      await page.keyboard.type(samples[id].class);
      await page.keyboard.press("Tab");
    }
    const values = await page.locator("#labelling select").evaluateAll((nodes) => nodes.map((node) => node.value));
    assert.deepEqual(values, [...labelled.map((id) => samples[id].class), ""]);
    const [request] = await Promise.all([page.waitForRequest((one) => one.url().endsWith("/v1/predict") && /teach/.test(one.postData())), press(page, "Teach")]);
    const { bank } = JSON.parse(request.postData());
    assert.deepEqual(bank.teach.flatMap((one) => one.samples.map((id) => [id, one.class])).sort(([a], [b]) => a - b),
      labelled.map((id) => [id, samples[id].class]).sort(([a], [b]) => a - b));
    assert.equal(await page.evaluate(() => document.activeElement.id), "suggest");
    await until(page, () => document.getElementById("gain").textContent !== "");
    const gain = await page.locator("#gain").textContent();
    // The same from the server, counted here.
    const [before, after] = [await classesOf(page), await classesOf(page, bank)];
    const others = samples.filter((one) => !labelled.includes(one.id)), tested = others.filter((one) => !one.seen);
    const right = (classes) => tested.filter((one) => classes[one.id] === one.class).length;
    const changed = others.filter((one) => before[one.id] !== after[one.id]).length;
    assert.ok(changed > 0);
    const found = /^Of (\d+) other pictures of unseen classes, (\d+) \(\d+ %\) were .+; now (\d+) \(\d+ %\)\. (\d+) of (\d+) predictions changed\.$/.exec(gain);
    assert.ok(found, gain);
    assert.deepEqual(found.slice(1).map(Number), [tested.length, right(before), right(after), changed, others.length]);
    // Labels are not descriptions.
    await press(page, "Export");
    await page.waitForSelector(".exported .warning");
    assert.match(await page.locator(".exported .warning").textContent(), /^Not exported: your labels\./);
    await pressAndSettle(page, "Undo");
    await announced(page, /^Undone: label 5 pictures\.$/);
    assert.equal(await page.locator("#gain").textContent(), "");
    const wrong = (classes) => samples.filter((one) => classes[one.id] !== one.class).length;
    assert.equal(await page.locator(".tile.wrong").count(), wrong(before));
    await pressAndSettle(page, "Redo");
    assert.equal(await page.locator("#gain").textContent(), gain);
    assert.equal(await page.locator(".tile.wrong").count(), wrong(after));
    // Those with labels are not asked about again; hiding a class drops its examples.
    assert.equal((await ask(page)).some((id) => labelled.includes(id)), false);
    await press(page, "Cancel", `Hide ${samples[labelled[0]].class}`);
    await settled(page);
    assert.equal(await page.locator("#problem").isVisible(), false);
    assert.equal(await page.locator("#gain").textContent(), "");
  }));

  test("wants one label at least, fits the screen and is accessible", limit, () => withServer(async (page) => {
    await ask(page);
    await press(page, "Teach");
    assert.equal(await problemOf(page), "Choose the class of at least one picture.");
    for (const width of [1366, 360]) {
      await page.setViewportSize({ width, height: 768 });
      await assertFitsAndIsAccessible(page, `${width} px`);
    }
    await press(page, "Cancel");
    assert.equal(await page.locator("#grid").isVisible(), true);
    assert.equal(await page.getByRole("button", { name: "Undo" }).isDisabled(), true);
  }));
});
