// What a reader can do on the page: sort, switch, turn, zoom, search, download. Runs on the samples only.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { after, before, describe, test } = require("node:test");
const { pageTemplate, fillPage, samplePage, launch, withSample, until } = require("./pages.js");
const { makeReport } = require("./sample_data.js");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const withPage = (kind, work, options) => withSample(browser, samplePage(kind), work, options);

// work(report, show): the report of the full sample, to be changed, and what opens a page of it as it is then.
async function withReport(work) {
  const context = await browser.newContext();
  try {
    const report = makeReport("full");
    await work(report, async () => {
      const page = await context.newPage();
      await page.setContent(fillPage(report));
      await page.waitForSelector("#comparison tbody tr");
      return page;
    });
  } finally {
    await context.close();
  }
}

async function download(page, figure, kind) {
  // Chromium drops more than ten downloads a second: a limit of the browser, however fast the machine is.
  await page.waitForTimeout(120);
  const [file] = await Promise.all([page.waitForEvent("download"),
    page.locator(`#fig-${figure} .toolbar button`, { hasText: kind }).click()]);
  return { name: file.suggestedFilename(), bytes: fs.readFileSync(await file.path()) };
}

function parseCsv(text) {
  const rows = [[]];
  for (const [, field, end] of text.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n)/g)) {
    rows.at(-1).push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
    if (end !== ",") rows.push([]);
  }
  rows.pop();
  return rows;
}

async function csv(page, figure) {
  const { name, bytes } = await download(page, figure, "CSV");
  assert.ok(name.endsWith(".csv"), name);
  const [head, ...rows] = parseCsv(bytes.toString("utf8"));
  return { head, rows };
}

const text = (value) => (value === null || value === undefined ? "" : String(value));

describe("template", () => {
  test("is below 700 KB, holds one placeholder and needs no other file", () => {
    const template = pageTemplate();
    assert.ok(Buffer.byteLength(template) < 700 * 1024, `${Buffer.byteLength(template)} bytes`);
    assert.equal(template.split("@REPORT_DATA@").length, 2);
    assert.ok(!/<link|<script[^>]+src=|@import|url\(http/i.test(template));
    assert.match(template, /Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"/);
  });

  test("shows hostile names as text", () => withReport(async (report, show) => {
    Object.assign(report, makeReport("minimal"));
    const hostile = '</script><img src=x onerror="document.title=1"><b>"&amp;';
    report.title = hostile;
    report.runs[0].name = hostile;
    report.runs[0].per_class[0].class = hostile;
    report.runs[0].confusion.classes[0] = hostile;
    const page = await show();
    assert.equal(await page.locator("h1").textContent(), hostile);
    assert.equal(await page.title(), hostile);
    assert.equal(await page.locator("main img").count(), 0);
  }));
});

describe("sentences", () => {
  const sentence = (page, figure) => page.locator(`#fig-${figure} .sentence`).textContent();

  test("states with equal figures are named together, others one by one", () => withReport(async (report, show) => {
    const [{ spectrum, angles }] = report.runs;
    spectrum.mean.raw[0] = 0.05;
    spectrum.mean.mapped[0] = spectrum.mean.without_mmg[0] = 0.5071;
    angles.without_mmg = angles.mapped;
    let page = await show();
    assert.match(await sentence(page, "spectrum"), /is 5\.0 % for raw features and 50\.7 % when mapped, with or without MMG\.$/);
    assert.match(await sentence(page, "angles"), /is \d+° for raw features and \d+° when mapped, with or without MMG; between the prototypes of two classes it is \d+°\.$/);
    spectrum.mean.mapped[0] = 0.6;
    delete angles.without_mmg;
    page = await show();
    assert.match(await sentence(page, "spectrum"), /is 5\.0 % for raw features, 50\.7 % when mapped without MMG and 60\.0 % when mapped with it\.$/);
    assert.match(await sentence(page, "angles"), /is \d+° for raw features and \d+° when mapped; between/);
  }));

  test("a sweep over another number of networks than the model's says so", () => withReport(async (report, show) => {
    assert.ok(!(await sentence(await show(), "sweep")).includes("this run's model"));
    report.runs[0].gates.networks = 192;
    assert.match(await sentence(await show(), "sweep"), /The models of the sweep have 200 networks, this run's model has 192\.$/);
  }));

  test("the hubness chart names what it counts", () => withReport(async (report, show) => {
    const labels = await (await show()).locator("#fig-hubness .axis-label").allTextContents();
    assert.deepEqual(labels.sort(), ["Samples of unseen classes", `Times among the ${report.runs[0].hubness.k} nearest of another sample`]);
  }));
});

describe("results", () => {
  test("the table sorts by click and by keyboard, with unknown figures last", () => withPage("full", async (page) => {
    const column = (index) => page.locator("#comparison tbody tr").evaluateAll((rows, i) => rows.map((row) => row.children[i].textContent), index);
    const numbers = (values) => values.filter((value) => value !== "–").map(Number);
    const head = page.locator("#comparison thead th[data-key=h]");
    await head.locator("button").click();
    assert.equal(await head.getAttribute("aria-sort"), "descending");
    const down = await column(6);
    assert.deepEqual(numbers(down), [...numbers(down)].sort((a, b) => b - a));
    assert.ok(down.lastIndexOf("–") === down.length - 1 && down.indexOf("–") >= numbers(down).length);
    await head.locator("button").press("Enter");
    assert.equal(await head.getAttribute("aria-sort"), "ascending");
    const up = await column(6);
    assert.deepEqual(numbers(up), [...numbers(up)].sort((a, b) => a - b));
    assert.ok(up.indexOf("–") >= numbers(up).length);
    await page.locator("#comparison thead th[data-key=method] button").click();
    const methods = await column(0);
    assert.deepEqual(methods, [...methods].sort((a, b) => a.localeCompare(b)));
  }));

  test("one run has no tabs, and its rank in words", () => withPage("full", async (page) => {
    assert.equal(await page.getByRole("tab").count(), 0);
    assert.equal(await page.locator(".rank").textContent(),
      "demo is third of 21 by ZSL accuracy and second of 21 by harmonic mean among the published rows with the same kind of semantics.");
  }));

  test("run tabs follow the keyboard and change figures and headline", () => withPage("four", async (page, report) => {
    assert.equal(await page.getByRole("tab").count(), 4);
    await page.getByRole("tab").first().focus();
    for (const index of [1, 2, 3, 0]) {
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.getByRole("tab", { selected: true }).textContent(), report.runs[index].name);
      assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-selected")), "true");
      assert.equal(await page.locator(".headline [data-metric=zsl] .value").textContent(), `${report.runs[index].summary.zsl.toFixed(1)}%`);
    }
    await page.keyboard.press("End");
    const { rows } = await csv(page, "per-class");
    assert.deepEqual(rows.map((row) => row[4]), report.runs[3].per_class.map((one) => text(one.gzsl)));
  }));

  test("without GZSL the page says so and shows no U, S, H", () => withPage("nogzsl", async (page) => {
    assert.equal(await page.locator(".headline > div").count(), 1);
    assert.match(await page.locator("#results").innerText(), /No generalised evaluation in this run/);
  }));
});

describe("navigation and theme", () => {
  test("contents lead to their sections by keyboard and mark the current one", () => withPage("full", async (page) => {
    const links = page.locator("#contents a");
    assert.equal(await links.count(), 9);
    for (let i = 0; i < 9; i += 1) {
      await links.nth(i).press("Enter");
      const id = (await links.nth(i).getAttribute("href")).slice(1);
      await until(page, (section) => {
        const { top, bottom } = document.getElementById(section).getBoundingClientRect();
        return top < window.innerHeight && bottom > 0;
      }, id);
    }
    await until(page, () => document.querySelector("#contents a[aria-current]").textContent === "Provenance");
  }, { reducedMotion: "reduce" }));

  test("the switch turns the page and the canvases dark and back", () => withPage("full", async (page) => {
    const colors = () => page.evaluate(() => [getComputedStyle(document.documentElement).backgroundColor,
      [...document.querySelector("#fig-confusion canvas").getContext("2d").getImageData(1, 1, 1, 1).data].join()]);
    assert.deepEqual(await colors(), ["rgb(255, 255, 255)", "255,255,255,255"]);
    await page.locator("#theme-switch").press("Space");
    assert.equal(await page.locator("#theme-switch").getAttribute("aria-pressed"), "true");
    assert.deepEqual(await colors(), ["rgb(21, 24, 27)", "21,24,27,255"]);
    await page.locator("#theme-switch").click();
    assert.deepEqual(await colors(), ["rgb(255, 255, 255)", "255,255,255,255"]);
  }));

  test("charts are drawn anew when the window narrows", () => withPage("full", async (page) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await until(page, () => [...document.querySelectorAll(".chart > svg")].every((svg) => Number(svg.getAttribute("width")) <= 390));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 390));
  }));
});

describe("figures", () => {
  test("the map in space turns by drag, by key and by button", () => withPage("full", async (page) => {
    const places = () => page.locator("#fig-subspaces-3d .chart svg .mark").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("transform")).sort().join());
    const chart = page.locator("#fig-subspaces-3d .chart");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    const seen = [await places()];
    const turned = async (what) => {
      const now = await places();
      assert.ok(!seen.includes(now), what);
      seen.push(now);
    };
    await page.mouse.move(box.x + 200, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 260, box.y + 220, { steps: 3 });
    await page.mouse.up();
    await turned("drag");
    await chart.focus();
    for (const key of ["ArrowLeft", "ArrowDown"]) {
      await page.keyboard.press(key);
      await turned(key);
    }
    await page.locator("#fig-subspaces-3d .controls button").nth(1).click();
    await turned("button");
    await chart.press("0");
    assert.equal(await places(), seen[0], "0 turns back");
  }));

  test("the confusion matrix zooms by button, key and wheel, and its list leads to a cell", () => withPage("full", async (page) => {
    const look = () => page.locator("#fig-confusion canvas").evaluate((canvas) => canvas.toDataURL());
    const whole = await look();
    await page.locator("#fig-confusion .controls button").first().click();
    const zoomed = await look();
    assert.notEqual(zoomed, whole);
    await page.locator("#fig-confusion .chart").press("0");
    assert.equal(await look(), whole);
    await page.keyboard.press("+");
    assert.equal(await look(), zoomed);
    await page.keyboard.press("0");
    await page.locator("#fig-confusion canvas").hover();
    await page.mouse.wheel(0, -240);
    await until(page, (before) => document.querySelector("#fig-confusion canvas").toDataURL() !== before, whole);
    const item = page.locator("#fig-confusion .aside li button").first();
    const [truth, predicted] = (await item.textContent()).split(" → ");
    await item.click();
    assert.equal(await page.locator("#tooltip strong").textContent(), `${truth} taken for ${predicted}`);
  }));

  test("the ten largest confusions are those of the data", () => withPage("full", async (page, report) => {
    const { classes, counts } = report.runs[0].confusion;
    const numbers = counts.filter(([row, column]) => row !== column).map((cell) => cell[2]).sort((a, b) => b - a).slice(0, 10);
    const items = await page.locator("#fig-confusion .aside li").allTextContents();
    assert.deepEqual(items.map((item) => Number(/ (\d+) of \d+$/.exec(item)[1])), numbers);
    for (const item of items) {
      const [, truth, predicted, number] = /^(.+) → (.+) (\d+) of \d+$/.exec(item);
      assert.ok(counts.some(([row, column, times]) => classes[row] === truth && classes[column] === predicted && times === Number(number)), item);
    }
  }));

  test("a class is found and sorted", () => withPage("many", async (page, report) => {
    const wanted = report.runs[0].per_class[123].class;
    await page.locator("#fig-per-class input[type=search]").fill(wanted);
    const labels = await page.locator("#fig-per-class .chart text.end").allTextContents();
    assert.equal(labels.length, report.runs[0].per_class.filter((one) => one.class.toLowerCase().includes(wanted.toLowerCase())).length);
    await page.locator("#fig-per-class input[type=search]").fill("");
    await page.locator("#fig-per-class select").first().selectOption("unseen");
    assert.equal(await page.locator("#fig-per-class .chart text.end").count(), report.runs[0].per_class.filter((one) => one.unseen).length);
  }));

  test("attributes: ten best and ten worst first, then all, then those searched for", () => withPage("full", async (page, report) => {
    const bars = page.locator("#fig-attributes .bar.mark");
    assert.equal(await bars.count(), 20);
    await page.locator("#fig-attributes input[type=checkbox]").check();
    assert.equal(await bars.count(), report.runs[0].attributes.length);
    await page.locator("#fig-attributes input[type=search]").fill("eye_color");
    assert.equal(await bars.count(), report.runs[0].attributes.filter((one) => one.name.includes("eye_color")).length);
  }));

  test("t-SNE highlights a class from the list, by click and by Enter, and its tooltip has the photo", () => withPage("full", async (page, report) => {
    const faded = () => page.locator("#fig-tsne .point").evaluateAll((nodes) => nodes.filter((node) => node.style.opacity === "0.12").length);
    const { tsne } = report.runs[0];
    await page.locator("#fig-tsne select").selectOption("4");
    assert.equal(await faded(), 2 * tsne.label.filter((label) => label !== 4).length);
    assert.equal(await page.locator("#fig-tsne .chart text.strong").first().textContent(), tsne.classes[4]);
    await page.locator("#fig-tsne select").selectOption("");
    assert.equal(await faded(), 0);
    await page.locator("#fig-tsne .chart").press("ArrowRight");
    assert.equal(await page.locator("#tooltip canvas.photo").count(), 1);
    assert.equal(await page.locator("#tooltip dd").first().textContent(), tsne.predicted[1]);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#fig-tsne select").inputValue(), String(tsne.label[1]));
  }));

  test("prototypes of unseen classes: three marks a class, its sentence counts them, and the map shows both ends", () => withReport(async (report, show) => {
    let page = await show();
    const sentence = (figure) => page.locator(`#fig-${figure} .sentence`).textContent();
    const { places, tsne } = report.runs[0];
    assert.equal(await page.locator("#fig-places .mark").count(), 3 * places.rows.length);
    const own = places.rows.filter((one) => one.own).length;
    assert.match(await sentence("places"), new RegExp(`own predicted prototype for ${own} of ${places.rows.length} classes \\(the others in bold\\)`));
    assert.equal(await page.locator("#fig-places text.strong").count(), places.rows.length - own);
    for (const mark of ["line", "circle", "path"]) assert.equal(await page.locator(`#fig-tsne .class-place ${mark}`).count(), tsne.classes.length, mark);
    assert.match(await sentence("tsne"), /predicted prototype of each class/);
    delete tsne.places;
    report.runs[0].places = null;
    page = await show();
    assert.equal(await page.locator("#fig-tsne .class-place path").count(), 0);
    assert.match(await page.locator("[data-figure=places]").textContent(), /by cosine/);
  }));

  test("few classes have a legend of buttons", () => withPage("nogzsl", async (page, report) => {
    const keys = page.locator("#fig-tsne .key");
    assert.equal(await keys.count(), report.runs[0].tsne.classes.length);
    for (const pressed of ["true", "false"]) {
      await keys.nth(2).click();
      assert.equal(await keys.nth(2).getAttribute("aria-pressed"), pressed);
    }
  }));

  test("the singular values of a picked class are drawn", () => withPage("full", async (page) => {
    const shape = () => page.locator("#fig-spectrum .chart path.line").first().getAttribute("d");
    const mean = await shape();
    await page.locator("#fig-spectrum select").selectOption("3");
    assert.notEqual(await shape(), mean);
  }));

  test("explanations show photos of the sprite", () => withPage("full", async (page) => {
    await page.waitForSelector("#fig-explanations image");
    assert.equal(await page.locator("#fig-explanations image").count(), 12);
  }));
});

describe("downloads", () => {
  test("CSV files hold the figures of the data", () => withPage("full", async (page, report) => {
    const [run] = report.runs;
    const same = async (figure, head, rows) => {
      const file = await csv(page, figure);
      assert.deepEqual(file.head, head, figure);
      assert.deepEqual(file.rows, rows.map((row) => row.map(text)), figure);
    };
    const h = (u, s) => (u + s > 0 ? (2 * u * s) / (u + s) : 0);
    await same("tradeoff", ["gamma", "u", "s", "h"], run.curve.map(([gamma, u, s]) => [gamma, u, s, h(u, s)]));
    await same("per-class", ["class", "unseen", "samples", "zsl", "gzsl"], run.per_class.map((one) => [one.class, one.unseen ? "yes" : "no", one.samples, one.zsl, one.gzsl]));
    await same("confusion", ["truth", "predicted", "count"], run.confusion.counts.map(([row, column, number]) => [run.confusion.classes[row], run.confusion.classes[column], number]));
    await same("reliability", ["classes", "above %", "up to %", "samples", "mean confidence", "accuracy"], ["seen", "unseen"].flatMap((key) => run.reliability[key].bins.map((bin, i) => [key, (100 * i) / 15, (100 * (i + 1)) / 15, bin.samples, bin.confidence, bin.accuracy])));
    await same("prediction-sets", ["stated coverage", "classes", "samples", "measured coverage", "average size"], run.sets.flatMap((one) => ["seen", "unseen"].map((key) => [one.stated, key, one[key].samples, one[key].coverage, one[key].size])));
    await same("sweep", ["active", "sparsity", "seeds", "zsl mean", "zsl sd", "h mean", "h sd"], run.sweep.rows.map((row) => [row.value, row.sparsity, row.seeds, row.zsl.mean, row.zsl.sd, row.h.mean, row.h.sd]));
    await same("transductive", ["protocol", "metric", "before", "after"], run.transductive.flatMap(({ protocol, before, after }) => ["zsl", "u", "s", "h"].map((key) => [protocol, key, before[key], after[key]])));
    await same("class-moves", ["protocol", "class", "degrees", "support"], run.transductive.flatMap(({ protocol, moves }) => moves.map((one) => [protocol, one.class, one.degrees, one.support])));
    await same("few-shot", ["examples", "taught mean", "taught sd", "examples alone mean", "examples alone sd"], [[0, run.few_shot.descriptions_alone, null, null, null], ...run.few_shot.rows.map((row) => [row.examples, row.taught.mean, row.taught.sd, row.examples_alone.mean, row.examples_alone.sd])]);
    const open = run.open_set;
    await same("open-set", ["curve", "score", "unknown accepted", "known accepted"], [["ROC", "roc"], ["OSCR", "oscr_curve"]].flatMap(([label, curve]) => [["known score", "known_score"], ["largest softmax", "confidence"]].flatMap(([name, key]) => open[key][curve].map((point) => [label, name, ...point]))));
    await same("open-set-scores", ["from", "to", "known, seen classes, %", "known, unseen classes, %", "unknown, %"], [["out of range", null, 0.5, 1.5, 12.5], ...open.histogram.unknown.map((share, i) => [open.histogram.edges[i], open.histogram.edges[i + 1], open.histogram.known_seen[i], open.histogram.known_unseen[i], share])]);
    await same("no-class", ["inputs", "features", "number", "rejected", "auroc"], open.no_class.map((kind) => [kind.name, kind.features, kind.inputs, kind.rejected, kind.auroc]));
    await same("ablation", ["variant", "zsl mean", "zsl sd", "h mean", "h sd"], run.ablation.rows.map((row) => [row.label, row.zsl.mean, row.zsl.sd, row.h.mean, row.h.sd]));
    await same("gate-usage", ["network", "usage"], run.gates.usage.map((share, i) => [i, share]));
    await same("gate-heat", ["class", ...run.gates.usage.map((_, i) => `network ${i}`)], run.gates.by_class.classes.map((name, i) => [name, ...run.gates.by_class.share[i]]));
    await same("angles", ["from", "to", "raw features", "mapped, without MMG", "mapped", "prototypes of the classes"], run.angles.raw.map((_, i) => [run.angles.edges[i], run.angles.edges[i + 1], run.angles.raw[i], run.angles.without_mmg[i], run.angles.mapped[i], run.angles.places[i]]));
    await same("tsne", ["sample", "class", "predicted", "correct", "raw x", "raw y", "mapped x", "mapped y"], [...run.tsne.label.map((label, i) => [run.tsne.sample[i], run.tsne.classes[label], run.tsne.predicted[i], run.tsne.correct[i], ...run.tsne.raw[i], ...run.tsne.mapped[i]]),
      ...run.tsne.places.map((point, i) => ["prototype", run.tsne.classes[i], null, null, null, null, ...point]), ...run.tsne.means.map((point, i) => ["mean", run.tsne.classes[i], null, null, null, null, ...point])]);
    await same("places", ["class", "samples", "cosine", "nearest other unseen", "its cosine", "own nearest", "nearest seen", "its cosine", "own nearest of all"], run.places.rows.map((one) => [one.class, one.samples, one.cosine, one.nearest, one.nearest_cosine, one.own ? "yes" : "no", one.nearest_seen, one.nearest_seen_cosine, one.own_of_all ? "yes" : "no"]));
    await same("subspaces-3d", ["class", "raw x", "raw y", "raw z", "mapped x", "mapped y", "mapped z"], run.subspaces.label.map((label, i) => [run.subspaces.classes[label], ...run.subspaces.raw[i], ...run.subspaces.mapped[i]]));
    await same("objective", ["stage", "step", "objective"], run.training.stages.flatMap((stage) => stage.steps.map((value, i) => [stage.name, i, value])));
    await same("svr-gap", ["pass", "primal", "dual", "gap", "seconds"], run.training.svr.map((one) => [one.pass, one.primal, one.dual, one.gap, one.seconds]));
    const rowsOf = async (figure) => (await csv(page, figure)).rows;
    assert.deepEqual(new Map(await rowsOf("attributes")), new Map(run.attributes.map((one) => [one.name, String(one.correlation)])));
    assert.equal((await rowsOf("explanations")).length, run.explanations.reduce((sum, one) => sum + one.terms.length + 2, 0));
    const spectrum = await rowsOf("spectrum");
    assert.equal(spectrum.length, 13 * 3 * 20);
    assert.equal(spectrum[0][3], String(run.spectrum.mean.raw[0]));
    assert.deepEqual((await rowsOf("hubness")).map((row) => row[1]), run.hubness.histogram.raw.map(String));
    assert.equal((await rowsOf("class-strip")).length, run.per_class.filter((one) => one.zsl !== null).length + run.per_class.length);
  }));

  test("SVG files stand alone: they parse, have size, colours and marks, and no style sheet", () => withPage("full", async (page) => {
    const figures = await page.locator("figure.figure").evaluateAll((nodes) => nodes.filter((node) => node.querySelector(".chart > svg")).map((node) => node.id.replace("fig-", "")));
    assert.equal(figures.length, 25);
    for (const figure of figures) {
      const { name, bytes } = await download(page, figure, "SVG");
      assert.ok(name.endsWith(".svg"));
      const found = await page.evaluate((source) => {
        const parsed = new DOMParser().parseFromString(source, "image/svg+xml");
        return { error: parsed.querySelector("parsererror") !== null, root: parsed.documentElement.localName, width: Number(parsed.documentElement.getAttribute("width")),
          shapes: parsed.querySelectorAll("path, rect, circle, line").length, texts: parsed.querySelectorAll("text[font-size]").length };
      }, bytes.toString("utf8"));
      assert.equal(found.error, false, figure);
      assert.equal(found.root, "svg", figure);
      assert.ok(found.width > 300 && found.shapes > 3 && found.texts > 1, figure);
      assert.ok(!/var\(--|class="/.test(bytes.toString("utf8")), figure);
    }
  }, { colorScheme: "dark" }));

  test("PNG files have the signature, the chart's size and more than one colour", () => withPage("full", async (page) => {
    for (const figure of ["tradeoff", "confusion", "gate-heat", "tsne", "explanations"]) {
      const { name, bytes } = await download(page, figure, "PNG");
      assert.ok(name.endsWith(".png"));
      assert.equal(bytes.subarray(0, 8).toString("hex"), "89504e470d0a1a0a", figure);
      const shown = await page.locator(`#fig-${figure} .chart > :is(svg, canvas)`).boundingBox();
      const width = bytes.readUInt32BE(16);
      const height = bytes.readUInt32BE(20);
      assert.ok(Math.abs(width / height - shown.width / shown.height) < 0.02, `${figure}: ${width} x ${height}`);
      assert.ok(width >= shown.width && bytes.length > 8000, `${figure}: ${bytes.length} bytes`);
    }
  }));
});
