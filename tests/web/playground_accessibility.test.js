// The playground in light, dark and forced colours, and on small screens: contrast, names for screen readers, overflow.
"use strict";

const assert = require("node:assert/strict");
const { describe, test } = require("node:test");
const { withPage, redescribe } = require("./playground_demo.js");
const { SCREENS, assertFitsAndIsAccessible } = require("./pages.js");
const { limit, settled, press } = require("./playground.js");

test("forced colours leave bars, the chosen tab and numbers to see", limit, () => withPage(async (page) => {
  const color = (selector, property = "backgroundColor") => page.locator(selector).first().evaluate((node, name) => getComputedStyle(node)[name], property);
  const canvas = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  for (const bar of [".bars .bar > span", ".meter span", ".swing.for", ".swing.against"]) assert.notEqual(await color(bar), canvas, bar);
  assert.notEqual(await color(".swing.for"), await color(".swing.against"));
  assert.notEqual(await color('[role=tab][aria-selected="true"]'), await color('[role=tab][aria-selected="false"]'));
  assert.equal(await color('[role=tab][aria-selected="false"]', "borderBottomWidth"), "0px");
  assert.match(await page.locator(".why .amount").first().innerText(), /\d/);
  await page.locator("#tab-attributes").click();
  assert.notEqual(await color(".seen-attributes .bar > span"), canvas);
  assert.notEqual(await color(".seen-attributes .bar > i"), await color(".seen-attributes .bar > span"));
  await redescribe(page, "deer", "horse", { wild: 100 });
  assert.equal(await color(".sliders li:not(.changed)", "borderLeftWidth"), "0px");
  assert.equal(await color(".sliders li.changed", "borderLeftWidth"), "3px");
  assert.notEqual(await color(".tile.own", "boxShadow"), "none");
}, { forcedColors: "active" }));

describe("accessibility", () => {
  for (const [scheme, width] of SCREENS(1366, 360)) {
    test(`no overflow, no axe violation: ${scheme}, ${width} px`, limit, () => withPage(async (page) => {
      const check = async (state) => {
        await settled(page);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
        await assertFitsAndIsAccessible(page, state);
      };
      await check("at first");
      await page.getByLabel(/^Answer "unknown" when unsure/).check();
      await page.getByRole("tab", { name: "Attributes in the picture" }).click();
      await press(page, "Hide cat", "Export");
      await page.waitForSelector(".exported pre");
      await check("unknown, hidden, exported");
      await redescribe(page, "deer", "horse", { wild: 100 });
      await page.getByRole("textbox", { name: "Name" }).fill("dog");
      await check("editor");
      for (const name of ["W".repeat(100), "W ".repeat(50).trim()]) {
        await page.getByRole("textbox", { name: "Name" }).fill(name);
        await page.getByLabel("Like").selectOption("deer");
        await check("editor, long name");
        await press(page, "Done");
        await page.locator(".tile.own").first().click();
        await page.getByRole("tab").first().click();
        await check("long name");
        await page.locator(".class-rows .own button").first().click();
      }
    }, { viewport: { width, height: 768 }, colorScheme: scheme, reducedMotion: "reduce" }));
  }

  test("fits a laptop's screen, and the switch changes the theme", limit, () => withPage(async (page) => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= window.innerHeight));
    await press(page, "Dark theme");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.equal(await page.getByRole("button", { name: "Light theme" }).getAttribute("aria-pressed"), null);
    await page.reload();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  }));
});
