// The playground with a class that is known by examples alone, without attributes.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { DEMO, limit, folder, parsnets, trainedModel, startedServer, downloaded, press, clickAndSettle } = require("./playground.js");

const EXAMPLES = 20;

// The last samples of the demo set, which are trucks.
function writeExamples(file) {
  const all = fs.readFileSync(path.join(DEMO, "features.npy"));
  const start = 10 + all.readUInt16LE(8);
  const [shape, rows] = /\((\d+), \d+\), \}/.exec(all.toString("latin1", 0, start));
  const head = all.toString("latin1", 0, start).replace(shape, shape.replace(rows, EXAMPLES).padEnd(shape.length));
  fs.writeFileSync(file, Buffer.concat([Buffer.from(head, "latin1"), all.subarray(all.length - (EXAMPLES * (all.length - start)) / rows)]));
}

const { withPage } = startedServer(() => {
  const model = path.join(folder, "examples.safetensors");
  const examples = path.join(folder, "examples.npy");
  fs.copyFileSync(trainedModel(), model);
  writeExamples(examples);
  parsnets("classes", "add", "--model", model, "--classes", "gadget", "--input", examples);
  return ["--model", model, "--data", DEMO];
});

describe("a class known by examples alone", () => {
  test("is said to be one, and has no description", limit, () => withPage(async (page) => {
    await clickAndSettle(page.locator('.tile[aria-label$=": gadget"]').first());
    assert.match(await page.locator(".verdict-name").textContent(), /^gadget /);
    assert.equal(await page.locator(".verdict p").nth(1).textContent(), "A class without attributes: the model knows it by examples alone.");
    assert.match(await page.locator("#evidence-panel").textContent(), /^gadget has no attributes to compare\./);
    await page.getByRole("tab", { name: "Attributes in the picture" }).click();
    assert.match(await page.locator("#evidence-panel p").textContent(), /gadget is known by examples alone and has no description\.$/);
    assert.deepEqual(await page.locator(".seen-attributes th[scope=col]").allTextContents(), ["Attribute", "Chart", "Picture"]);
    assert.equal(await page.locator(".seen-attributes i").count(), 0);
  }));

  test("is nothing to start from, and no part of the average", limit, () => withPage(async (page) => {
    await press(page, "New class");
    const starts = await page.locator("#class-base option").allTextContents();
    assert.equal(starts.includes("truck"), true);
    assert.equal(starts.includes("gadget"), false);
    await page.getByLabel("Like").selectOption("the average of all classes");
    const [head, ...rows] = fs.readFileSync(path.join(DEMO, "attributes.csv"), "utf8").trim().split("\n").map((line) => line.split(","));
    const wings = rows.map((row) => Number(row[head.indexOf("has_wings")]));
    const average = wings.reduce((sum, value) => sum + value, 0) / wings.length;
    assert.equal(Number(await page.getByLabel("has wings, number").inputValue()), Number(average.toPrecision(4)));
  }));

  test("is not in the table of an export, which says so", limit, () => withPage(async (page) => {
    await downloaded(page, "Export");
    await page.waitForSelector(".exported p");
    assert.deepEqual(await page.locator(".exported p").allTextContents(),
      ["Saved classes.csv: the classes of the model with their attributes.", "Not exported: gadget. It is known by examples alone."]);
  }));
});
