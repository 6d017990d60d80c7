// A report over several data sets: overview, parts, and what must be told apart between them.
"use strict";

const assert = require("node:assert/strict");
const { after, before, describe, test } = require("node:test");
const { SCREENS, samplePage, launch, open, withSample, until, assertFitsAndIsAccessible } = require("./pages.js");

const sample = samplePage("sets");

describe("several data sets", () => {
  let browser;
  let view;
  before(async () => {
    browser = await launch();
    view = await open(browser, sample);
  });
  after(() => browser.close());

  test("the overview has every figure, and the best of each column in bold", async () => {
    const { rows } = sample.report.overview;
    const cells = await view.page.locator("#overview-table tbody tr").evaluateAll((nodes) =>
      nodes.map((row) => [...row.children].map((cell) => [cell.textContent, cell.querySelector("strong") !== null])));
    assert.equal(cells.length, rows.length);
    rows.forEach((row, i) => {
      assert.equal(cells[i][0][0], row.method);
      row.cells.forEach((cell, p) => ["zsl", "h"].forEach((key, k) => {
        const [text, bold] = cells[i][1 + 2 * p + k];
        const value = cell && cell[key];
        assert.equal(text, value === null ? "–" : value.toFixed(1));
        const others = rows.map((one) => one.cells[p] && one.cells[p][key]).filter((one) => one !== null);
        assert.equal(bold, value !== null && others.length > 1 && value === Math.max(...others));
      }));
    });
    const words = await view.page.locator("#overview .rank").textContent();
    assert.match(words, /^ours is best on 2 of 2 data sets by H; mean rank 1\.0 among 2 methods\./);
  });

  test("each data set has its part with its own runs, figures, rows and photographs", async () => {
    assert.deepEqual(await view.page.locator(".part-heading").allTextContents(), ["Overview", "CUB", "SUN 2"]);
    for (const [i, prefix] of [[0, "CUB-"], [1, "SUN_2-"]]) {
      const { runs, reference } = sample.report.parts[i];
      assert.equal(await view.page.locator(`#${prefix}comparison tbody tr`).count(), runs.length + reference.length);
      assert.equal(await view.page.locator(`#${prefix}part figure svg, #${prefix}part figure canvas`).count() > 10, true);
      assert.equal(await view.page.locator(`#fig-${prefix}explanations image`).count() > 0, i === 0);
      const headline = await view.page.locator(`#${prefix}part .headline [data-metric=zsl] .value`).textContent();
      assert.equal(headline, `${runs[0].summary.zsl.toFixed(1)}%`);
    }
    const own = await view.page.locator("#SUN_2-comparison tbody tr", { hasText: "own row, not measured here" }).allTextContents();
    assert.equal(own.length, 1);
    assert.match(own[0], /^mine/);
    const ids = await view.page.locator("[id]").evaluateAll((nodes) => nodes.map((node) => node.id));
    assert.equal(new Set(ids).size, ids.length, "ids are unique");
  });

  test("tabs of one part leave the other as it is, by pointer and keyboard", async () => {
    const shown = (prefix) => view.page.locator(`#${prefix}part .headline [data-metric=zsl] .value`).textContent();
    const before = await shown("CUB-");
    await view.page.locator("#SUN_2-run-tab-0").press("ArrowRight");
    assert.equal(await view.page.locator("#SUN_2-run-tab-1").getAttribute("aria-selected"), "true");
    assert.equal(await shown("SUN_2-"), `${sample.report.parts[1].runs[1].summary.zsl.toFixed(1)}%`);
    assert.equal(await shown("CUB-"), before);
    await view.page.locator("#SUN_2-run-tab-0").click();
  });

  test("the contents list the data sets, and the sections of the one that is read", async () => {
    const shown = () => view.page.locator("#contents a:visible").allTextContents();
    await view.page.evaluate(() => window.scrollTo(0, 0));
    await until(view.page, () => document.querySelector("#contents a[aria-current]").textContent === "Overview");
    assert.deepEqual(await shown(), ["Overview", "CUB", "SUN 2"]);
    await view.page.locator("#contents a", { hasText: "SUN 2" }).click();
    await until(view.page, () => document.querySelector("#contents a[aria-current]").textContent === "SUN 2");
    assert.equal((await shown()).length, 12);
    await view.page.locator("#contents a:visible", { hasText: "Geometry" }).click();
    await until(view.page, () => document.querySelectorAll("#contents a[aria-current]")[1].hash === "#SUN_2-geometry");
  });

  for (const [scheme, width] of SCREENS(1400, 390)) {
    test(`no overflow, no axe violation: ${scheme}, ${width} px`, () => withSample(browser, sample, (page) =>
      assertFitsAndIsAccessible(page, "several data sets", "main", ".scroll-box, svg, .visually-hidden"),
    { viewport: { width, height: 844 }, colorScheme: scheme }));
  }

  test("paper has every part", async () => {
    await view.page.emulateMedia({ media: "print" });
    await until(view.page, () => document.documentElement.classList.contains("printing"));
    const heights = await view.page.locator("section").evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().height));
    assert.equal(heights.length, 19);
    assert.ok(heights.every((height) => height > 20));
    await view.page.emulateMedia({ media: "screen" });
  });

  test("no console error, no exception, no request", () => assert.deepEqual(view.problems, []));
});
