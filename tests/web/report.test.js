// Checks that hold for every report: the samples of all kinds, or with PAGE=path/to/report.html a real one.
"use strict";

const assert = require("node:assert/strict");
const { after, before, describe, test } = require("node:test");
const { SCREENS, samplePage, realPage, launch, open, withSample, until, assertFitsAndIsAccessible } = require("./pages.js");
const { KINDS } = require("./sample_data.js");

const samples = process.env.PAGE ? [[process.env.PAGE, realPage(process.env.PAGE)]] : KINDS.map((kind) => [kind, samplePage(kind)]);

// Which figures a run must show, by the parts it has.
function expectedFigures(run) {
  const has = {
    tradeoff: run.curve, "class-strip": run.per_class.some((one) => one.zsl !== null || one.gzsl !== null), "per-class": run.per_class.length,
    confusion: run.confusion.counts.length, reliability: run.reliability, "prediction-sets": run.sets, sweep: run.sweep, ablation: run.ablation, "gate-usage": run.gates, "gate-heat": run.gates && run.gates.by_class,
    transductive: run.transductive, "class-moves": run.transductive && run.transductive.some((one) => one.moves.length), "few-shot": run.few_shot,
    "open-set": run.open_set, "open-set-scores": run.open_set, "no-class": run.open_set && run.open_set.no_class.length,
    spectrum: run.spectrum, angles: run.angles, places: run.places, tsne: run.tsne, "subspaces-2d": run.subspaces, "subspaces-3d": run.subspaces, hubness: run.hubness,
    objective: run.training && run.training.stages.length, "svr-gap": run.training && run.training.svr, attributes: run.attributes, explanations: run.explanations,
  };
  return Object.keys(has).filter((key) => has[key]);
}

async function smallTexts(page) {
  return page.evaluate(() => {
    const small = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || ["SCRIPT", "STYLE", "desc"].includes(parent.tagName)) continue;
      const size = parseFloat(getComputedStyle(parent).fontSize);
      const svg = parent.closest("svg");
      const scale = svg && svg.getAttribute("viewBox") ? svg.getBoundingClientRect().width / Number(svg.getAttribute("width")) : 1;
      if (size * scale < 11.99) small.push(`${parent.tagName}.${parent.getAttribute("class")} ${size * scale}: ${walker.currentNode.textContent.slice(0, 40)}`);
    }
    return small;
  });
}

for (const [name, sample] of samples) {
  describe(`report ${name}`, () => {
    const run = sample.report.runs[0];
    let browser;
    let page;
    let problems;

    before(async () => {
      browser = await launch();
      ({ page, problems } = await open(browser, sample));
    });

    after(() => browser.close());

    test("headline figures equal the data", async () => {
      for (const key of ["zsl", "u", "s", "h"]) {
        const shown = await page.locator(`.headline [data-metric=${key}] .value`).allTextContents();
        const value = run.summary[key];
        if (value === null || value === undefined) assert.equal(shown.length, 0, key);
        else assert.deepEqual(shown, [`${value.toFixed(1)}%`], key);
      }
      if (run.summary.u !== null && run.summary.ausuc !== null) {
        assert.equal(await page.locator(".headline [data-metric=ausuc] .value").textContent(), `${run.summary.ausuc.toFixed(1)}%`);
      }
    });

    test("the table holds every run and every published row", async () => {
      assert.equal(await page.locator("#comparison tbody tr").count(), sample.report.runs.length + sample.report.reference.length);
      assert.equal(await page.locator("#comparison tbody tr.own").count(), sample.report.runs.length);
      const text = await page.locator("#comparison").innerText();
      for (const row of sample.report.reference) assert.ok(text.includes(row.method) && text.includes(row.source), row.method);
    });

    test("each part has its figure, each missing part a quiet line", async () => {
      const shown = await page.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => node.id.replace("fig-", "")));
      assert.deepEqual(shown, expectedFigures(run));
      const absent = await page.locator("p.absent[data-figure]").evaluateAll((nodes) => nodes.map((node) => [node.dataset.figure, node.textContent]));
      for (const [figure, line] of absent) {
        assert.ok(!shown.includes(figure));
        assert.match(line, /^No .+\.$/);
      }
    });

    test("each figure has a heading, a sentence and alternative text that say something", async () => {
      const figures = await page.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => ({
        id: node.id, heading: node.querySelector("h3").textContent, sentence: node.querySelector(".sentence").textContent,
        label: node.querySelector(".chart [role=img]").getAttribute("aria-label"),
      })));
      for (const { id, heading, sentence, label } of figures) {
        assert.match(heading, /^Figure \d+ ./, id);
        assert.ok(sentence.length > 20 && sentence.endsWith("."), `${id}: ${sentence}`);
        assert.ok(!/undefined|NaN|null|Infinity/.test(sentence), `${id}: ${sentence}`);
        assert.equal(label, sentence, id);
      }
    });

    for (const width of [1400, 390]) test(`every chart draws marks, all within its box, ${width} px wide`,
      () => withSample(browser, sample, async (screen) => {
      const charts = await screen.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => {
        const svg = node.querySelector(".chart > svg");
        if (!svg) {
          const canvas = node.querySelector(".chart > canvas");
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const colors = new Set();
          for (let i = 0; i < pixels.length; i += 4 * 97) colors.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
          return { id: node.id, count: colors.size > 2 ? colors.size : 0, outside: [], bad: 0 };
        }
        const box = svg.getBoundingClientRect();
        const outside = [];
        const marks = [...svg.querySelectorAll(".mark, .line, text")];
        for (const mark of marks) {
          const { left, right, top, bottom } = mark.getBoundingClientRect();
          if (left < box.left - 2 || right > box.right + 2 || top < box.top - 2 || bottom > box.bottom + 2) outside.push(`${mark.tagName} ${mark.getAttribute("class")} ${mark.textContent}`);
        }
        const bad = [...svg.querySelectorAll("*")].filter((one) => [...one.attributes].some(({ name, value }) => name !== "href" && /NaN|undefined|Infinity/.test(value))).length;
        return { id: node.id, count: svg.querySelectorAll(".mark, .line").length, outside, bad };
      }));
      for (const { id, count, outside, bad } of charts) {
        assert.ok(count > 0, `${id} draws nothing`);
        assert.deepEqual(outside, [], id);
        assert.equal(bad, 0, `${id} has broken coordinates`);
      }
    }, { viewport: { width, height: 844 } }));

    for (const width of [1400, 390]) test(`no curve crosses a label of the trade-off, ${width} px wide`,
      () => withSample(browser, sample, async (screen) => {
      if (!run.curve) return;
      const { labels, crossed } = await screen.locator("#fig-tradeoff .chart > svg").evaluate((svg) => {
        const points = [...svg.querySelectorAll("path.line")].flatMap((path) => {
          const length = path.getTotalLength();
          return Array.from({ length: Math.ceil(length) + 1 }, (_, i) => path.getPointAtLength(Math.min(i, length)));
        });
        const boxes = [...svg.querySelectorAll(".contour-label, .strong")].map((text) => [text.textContent, text.getBBox(), text.matches(".strong")]);
        const touch = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
        return { labels: boxes.map(([text]) => text),
          crossed: boxes.filter(([, box, chosen], i) => points.some(({ x, y }) => !chosen && x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height)
            || boxes.some(([, other], j) => i !== j && touch(box, other))).map(([text]) => text) };
      });
      assert.ok(labels.length >= 3, `contours without labels: ${labels}`);
      assert.deepEqual(crossed, []);
    }, { viewport: { width, height: 844 } }));

    test("that there are no published rows is said once", async () => {
      if (sample.report.reference.length) return;
      const words = await page.locator("#results").textContent();
      assert.equal(words.match(/published row/gi).length, 1, words);
    });

    test("sizes are in powers of 1000, as the command line writes them", async () => {
      if (!run.summary.model_bytes) return;
      const shown = await page.locator(".details div", { hasText: "Model size" }).locator("dd").textContent();
      const [, number, unit] = shown.match(/^([\d.]+) (B|kB|MB|GB)$/);
      const scale = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 }[unit];
      assert.ok(Math.abs(Number(number) * scale - run.summary.model_bytes) <= 0.05 * scale * (Number(number) < 100 ? 1 : 10), `${shown} for ${run.summary.model_bytes}`);
    });

    test("the keyboard reaches every chart, steps through its marks and closes the tooltip", async () => {
      for (const id of await page.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => node.id))) {
        const chart = page.locator(`#${id} .chart`);
        await chart.press(id === "fig-subspaces-3d" ? "n" : "ArrowRight");
        assert.ok(await page.locator("#tooltip").isVisible(), id);
        const text = await page.locator("#tooltip").innerText();
        assert.ok(text.trim().length > 3 && !/undefined|NaN/.test(text), `${id}: ${text}`);
        assert.ok((await page.locator("#announcer").textContent()).length > 3, id);
        await page.keyboard.press("Escape");
        assert.ok(await page.locator("#tooltip").isHidden(), id);
        await page.keyboard.press("Tab");
      }
    });

    test("the pointer brings up the tooltip", async () => {
      for (const id of await page.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => node.id))) {
        const canvas = await page.locator(`#${id} canvas`).count();
        const marks = await page.locator(`#${id} .chart > svg .mark`).count();
        const target = page.locator(canvas ? `#${id} canvas` : `#${id} .chart > svg ${marks ? ".mark" : ".line:not(.legend *)"}`).first();
        await target.evaluate((node) => node.scrollIntoView({ block: "center" }));
        let box = await target.boundingBox();
        const chart = await page.locator(`#${id} .chart`).boundingBox();
        if (!canvas && !marks) {
          // A line: aim at a point on it rather than at the middle of its box.
          const at = await target.evaluate((node) => {
            const point = node.getPointAtLength(node.getTotalLength() / 2).matrixTransform(node.getScreenCTM());
            return { x: point.x, y: point.y };
          });
          box = { ...at, width: 0, height: 0 };
        }
        await page.mouse.move(chart.x + 1, chart.y + 1);
        await page.mouse.move(box.x + box.width / 2, box.y + box.height * (canvas ? 0.4 : 0.5));
        assert.ok(await page.locator("#tooltip").isVisible(), id);
        await page.mouse.move(2, 2);
        assert.ok(await page.locator("#tooltip").isHidden(), id);
      }
    });

    test("the numbers of every figure are one click away", async () => {
      for (const id of await page.locator("figure.figure").evaluateAll((nodes) => nodes.map((node) => node.id))) {
        const button = page.locator(`#${id} .toolbar button`).first();
        await button.click();
        assert.equal(await button.getAttribute("aria-expanded"), "true");
        const cells = await page.locator(`#${id} .numbers td`).evaluateAll((nodes) => nodes.map((node) => node.textContent));
        assert.ok(cells.length > 0 && !cells.some((text) => /undefined|NaN/.test(text)), id);
        await button.click();
        assert.ok(await page.locator(`#${id} .numbers`).isHidden());
      }
    });

    for (const [scheme, width] of SCREENS(1400, 390)) {
      const title = `no overflow, no small text, no axe violation: ${scheme}, ${width} px`;
      test(title, () => withSample(browser, sample, async (screen) => {
        assert.equal(await screen.evaluate(() => document.documentElement.dataset.theme), scheme);
        assert.deepEqual(await smallTexts(screen), []);
        await assertFitsAndIsAccessible(screen, name, "main", ".scroll-box, svg, .visually-hidden");
      }, { viewport: { width, height: 844 }, colorScheme: scheme }));
    }

    test("paper has every section, in light colours", () => withSample(browser, sample, async (paper) => {
      const corners = () => paper.locator(".chart canvas").evaluateAll((nodes) => nodes.map((node) => node.getContext("2d").getImageData(1, 1, 1, 1).data[0]));
      // The printer asks before it changes the media, so the drawing cannot rely on it.
      await paper.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      assert.ok((await corners()).every((red) => red === 255));
      await paper.evaluate(() => window.dispatchEvent(new Event("afterprint")));
      assert.ok((await corners()).every((red) => red < 60));
      assert.equal(await paper.evaluate(() => document.documentElement.dataset.theme), "dark");
      await paper.emulateMedia({ media: "print" });
      await until(paper, () => document.documentElement.classList.contains("printing"));
      const sections = await paper.locator("section").evaluateAll((nodes) => nodes.map((node) => node.getBoundingClientRect().height));
      assert.equal(sections.length, 9);
      assert.ok(sections.every((height) => height > 20));
      assert.ok(await paper.locator(".toolbar, #contents").evaluateAll((nodes) => nodes.every((node) => getComputedStyle(node).display === "none")));
      assert.equal(await paper.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), "rgb(255, 255, 255)");
      assert.ok((await corners()).every((red) => red === 255));
      const pdf = await paper.pdf();
      assert.equal(pdf.subarray(0, 5).toString(), "%PDF-");
    }, { colorScheme: "dark" }));

    test("no console error, no exception, no request", () => assert.deepEqual(problems, []));

    test("the page is small", () => assert.ok(sample.bytes < 5e6, `${sample.bytes} bytes`));
  });
}
