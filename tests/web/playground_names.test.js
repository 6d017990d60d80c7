// Names on the playground: those of data sets with numbers and underscores, long ones, and those that turn the direction of text.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { DEMO, limit, folder, trainedModel, startedServer, settled, press, clickAndSettle, newClass } = require("./playground.js");

const NAMES = { deer: "055.Evening_Grosbeak", truck: "047.American_Goldfinch", cat: "001.Twin", dog: "002.Twin", ship: "\u202eevil" };
const LONG = `has_${"w".repeat(116)}`;

const { withPage } = startedServer(() => {
  const data = path.join(folder, "named");
  fs.mkdirSync(data);
  for (const file of ["features.npy", "labels.npy", "thumbnails.jpg"]) fs.copyFileSync(path.join(DEMO, file), path.join(data, file));
  const text = (name) => fs.readFileSync(path.join(DEMO, name), "utf8");
  fs.writeFileSync(path.join(data, "attributes.csv"), text("attributes.csv").replace("has_wings", LONG)
    .replace(/^\w+(?=,\d)/gm, (name) => NAMES[name] || name));
  fs.writeFileSync(path.join(data, "split.json"), text("split.json").replace(/"(deer|truck|cat|dog|ship)"/g, (_, name) => JSON.stringify(NAMES[name])));
  return ["--model", trainedModel(data), "--data", data];
});

// Whether the text of the first node that holds it is written from left to right.
function leftToRight(page, selector, text) {
  return page.evaluate(([where, wanted]) => {
    const walker = document.createTreeWalker(document.querySelector(where), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.data.lastIndexOf(wanted);
      if (at < 0) continue;
      const place = (index) => {
        const range = document.createRange();
        range.setStart(walker.currentNode, index);
        range.setEnd(walker.currentNode, index + 1);
        return range.getBoundingClientRect().left;
      };
      return place(at) < place(at + wanted.length - 1);
    }
    throw new Error(`no ${wanted} in ${where}`);
  }, [selector, text]);
}

describe("names of classes", () => {
  test("with numbers and underscores are words, where these are of one class alone", limit, () => withPage(async (page) => {
    const shown = await page.locator(".class-rows .class-tag").allTextContents();
    assert.deepEqual(shown.slice(0, 2).sort(), ["◇\u00a0American Goldfinch unseen", "◇\u00a0Evening Grosbeak unseen"]);
    assert.ok(shown.includes("●\u00a0001.Twin seen") && shown.includes("●\u00a0002.Twin seen"), String(shown));
    assert.equal(await page.locator(".class-rows .class-tag", { hasText: "Evening" }).getAttribute("title"), NAMES.deer);
    await clickAndSettle(page.locator('.tile[aria-label^="Evening Grosbeak, "]').first());
    assert.equal(await page.locator(".verdict .note").first().textContent(), "Its label is Evening Grosbeak.");
    assert.doesNotMatch(await page.locator("main").innerText(), /\d{3}\.(Evening|American)|Evening_/);
    // What the page sends has the name of the model.
    const [request] = await Promise.all([page.waitForRequest("**/v1/predict"), page.getByRole("button", { name: "Hide Evening Grosbeak" }).click()]);
    assert.deepEqual(JSON.parse(request.postData()).bank.remove, [NAMES.deer]);
    // The words are taken, too.
    await newClass(page, "American Goldfinch");
    assert.match(await page.locator("#name-problem").textContent(), /^The model has a class American Goldfinch\./);
  }));

  test("stand in the heads of a table in full", limit, () => withPage(async (page) => {
    await clickAndSettle(page.locator('.tile[aria-label^="Evening Grosbeak, "]').first());
    for (const tab of ["tab-why", "tab-attributes"]) {
      await page.locator(`#${tab}`).click();
      const cut = await page.locator(".evidence th").evaluateAll((heads) => heads.filter((head) => head.scrollWidth > head.clientWidth
        || getComputedStyle(head).textOverflow === "ellipsis").map((head) => head.textContent));
      assert.deepEqual(cut, []);
      // No word is broken: each is on one line.
      const broken = await page.locator(".evidence thead th").evaluateAll((heads) => heads.flatMap((head) => [...head.textContent.matchAll(/\S+/g)].filter((word) => {
        const text = document.createTreeWalker(head, NodeFilter.SHOW_TEXT).nextNode();
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        return new Set([...range.getClientRects()].map((box) => box.top)).size > 1;
      }).map((word) => word[0])));
      assert.deepEqual(broken, []);
    }
  }, { viewport: { width: 360, height: 740 } }));

  test("that turn the direction of text turn that of nothing else", limit, () => withPage(async (page) => {
    const index = await page.locator(".class-rows .class-tag").evaluateAll((tags) => tags.findIndex((tag) => tag.textContent.includes("evil")));
    await page.locator(".class-rows .class-tag").nth(index).evaluate((tag) => {
      tag.id = "tag-of-evil";
    });
    assert.equal(await leftToRight(page, "#tag-of-evil", "seen"), true);
    await newClass(page, "pony\u202e", "horse");
    await settled(page);
    await page.waitForSelector("#effect:not(:empty)");
    assert.equal(await leftToRight(page, "#effect", "assigned"), true);
    await press(page, "Done");
    await clickAndSettle(page.locator(".tile.own").first());
    assert.equal(await leftToRight(page, ".bars li", "yours"), true);
    assert.equal(await leftToRight(page, ".class-rows .own p", "pictures"), true);
  }));
});

test("a long name of an attribute is shown in full in the explanation", limit, () => withPage(async (page) => {
  const words = LONG.replace("_", " ");
  for (const tile of await page.locator(".tile").all()) {
    if (await page.locator(".why th", { hasText: words }).count()) break;
    await tile.click();
    await settled(page);
  }
  for (const node of [".why th", ".evidence p"]) {
    const found = page.locator(node, { hasText: words }).first();
    if (node === ".evidence p" && !await found.count()) continue;
    assert.ok(await found.evaluate((one) => one.scrollWidth <= one.clientWidth + 1), node);
    assert.ok(await found.evaluate((one) => one.getBoundingClientRect().right <= document.getElementById("result").getBoundingClientRect().right), node);
  }
  await page.locator("#tab-attributes").click();
  await press(page, /^Show all/);
  const row = page.locator(".seen-attributes th", { hasText: words });
  assert.ok(await row.evaluate((one) => one.scrollWidth <= one.clientWidth + 1));
}));
