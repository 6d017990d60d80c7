// Builds the template with cmake, puts sample reports in it, and starts the browser.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");
const { makeReport } = require("./sample_data.js");

const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const ROOT = path.join(__dirname, "..", "..");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "parsnets-web-"));
process.on("exit", () => fs.rmSync(folder, { recursive: true, force: true }));

let template = null;

function pageTemplate() {
  if (template === null) {
    execFileSync("cmake", [`-DOUTPUT=${folder}`, "-P", path.join(ROOT, "cmake", "ReportPage.cmake")], { stdio: "pipe" });
    template = fs.readFileSync(path.join(folder, "report_page.html"), "utf8");
  }
  return template;
}

// The text of the page with a report in it, as the report command makes it.
function fillPage(report) {
  const json = JSON.stringify(report).replace(/</g, "\\u003c");
  return pageTemplate().replace("@REPORT_DATA@", () => json);
}

const written = new Map();

// {url, report, bytes} of a sample page.
function samplePage(kind) {
  if (!written.has(kind)) {
    const report = makeReport(kind);
    const file = path.join(folder, `${kind}.html`);
    const text = fillPage(report);
    fs.writeFileSync(file, text);
    written.set(kind, { url: pathToFileURL(file).href, report, bytes: Buffer.byteLength(text) });
  }
  return written.get(kind);
}

// A real report: its JSON is read back from the page.
function realPage(file) {
  const text = fs.readFileSync(file, "utf8");
  const json = /<script type="application\/json" id="report-data">([\s\S]*?)<\/script>/.exec(text)[1];
  return { url: pathToFileURL(path.resolve(file)).href, report: JSON.parse(json), bytes: Buffer.byteLength(text) };
}

function launch() {
  return chromium.launch({
    timeout: 0,
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
}

// Opens a page and collects what must stay empty: console messages, exceptions, requests to others (not `isOwn(url)`).
// What matches `expected` is left out. `before(page)` runs before the page is loaded; `ready` appears when it is.
async function openWatched(browser, url, { isOwn, ready, expected = null, before = null, patience = 0, ...options }) {
  const context = await browser.newContext({ colorScheme: "light", acceptDownloads: true, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const problems = [];
  const note = (text) => {
    if (!expected || !expected.test(text)) problems.push(text);
  };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) note(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => note(`exception: ${error.message}`));
  page.on("request", (request) => {
    if (!isOwn(request.url()) && !/^(data|blob):/.test(request.url())) note(`request: ${request.url()}`);
  });
  if (before) await before(page);
  await page.goto(url);
  await page.waitForSelector(ready);
  return { context, page, problems };
}

// A report. Without patience: a slow machine is no failure. The tests read canvases back, which Chromium remarks upon.
function open(browser, sample, options = {}) {
  return openWatched(browser, sample.url, { isOwn: (url) => url === sample.url, ready: ".results-table tbody tr",
    expected: /^console: Canvas2D: Multiple readback/, viewport: { width: 1400, height: 900 }, ...options });
}

// work(page, report) on a page of its own, on which nothing may go wrong.
async function withSample(browser, sample, work, options) {
  const view = await open(browser, sample, options);
  try {
    await work(view.page, sample.report);
    assert.deepEqual(view.problems, []);
  } finally {
    await view.context.close();
  }
}

// Waits until `check` holds in the page; the page's policy forbids the eval of waitForFunction.
async function until(page, check, argument, patience = Infinity) {
  const end = Date.now() + patience;
  while (!await page.evaluate(check, argument)) {
    if (Date.now() > end) throw new Error(`waited in vain for ${check}`);
    await page.waitForTimeout(20);
  }
}

// What axe, which knows rules of accessibility, has against the page.
async function violations(page) {
  await page.evaluate(axeSource);
  return page.evaluate(async () => (await window.axe.run(document)).violations
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`).join(" | ")}`));
}

// Nothing reaches over the right edge of the window, but what lies in parts that scroll by themselves, and axe is content.
async function assertFitsAndIsAccessible(page, state, root = "body", scrolls = ".visually-hidden") {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${state}: the page scrolls sideways`);
  const wide = await page.evaluate(([within, except]) => [...document.querySelectorAll(`${within} *`)].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width > 0 && box.right > window.innerWidth + 1 && !node.closest(except);
  }).map((node) => `${node.tagName}.${node.className}`), [root, scrolls]);
  assert.deepEqual(wide, [], state);
  // Thousands of bare shapes of charts only slow axe down: it judges text, names, roles and focus.
  await page.evaluate(() => document.querySelectorAll(".chart > svg :is(path, circle, line)").forEach((node) => node.remove()));
  assert.deepEqual(await violations(page), [], state);
}

const SCREENS = (wide, narrow) => ["light", "dark"].flatMap((scheme) => [wide, narrow].map((width) => [scheme, width]));

module.exports = { SCREENS, pageTemplate, fillPage, samplePage, realPage, launch, openWatched, open, withSample, until, violations, assertFitsAndIsAccessible };
