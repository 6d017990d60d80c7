// Builds the template with cmake, puts sample reports in it, and starts the browser.
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { chromium } = require("playwright-core");
const { makeReport } = require("./sample_data.js");

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

// Opens a page and collects what must stay empty: console errors, exceptions, requests other than the file itself.
async function open(browser, sample, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, colorScheme: "light", acceptDownloads: true, ...options });
  context.setDefaultTimeout(0); // a slow machine is no failure
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => {
    // The tests read canvases back, which Chromium remarks upon; the page itself does not.
    if (["error", "warning"].includes(message.type()) && !message.text().startsWith("Canvas2D: Multiple readback")) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== sample.url && !url.startsWith("data:") && !url.startsWith("blob:")) problems.push(`request: ${url}`);
  });
  await page.goto(sample.url);
  await page.waitForSelector(".results-table tbody tr");
  return { context, page, problems };
}

// Waits until `check` holds in the page, asking after every frame; unlike waitForFunction it needs no eval, which the
// page's policy forbids.
async function until(page, check, argument) {
  while (!await page.evaluate(check, argument)) await page.evaluate(() => new Promise(requestAnimationFrame));
}

module.exports = { pageTemplate, fillPage, samplePage, realPage, launch, open, until };
