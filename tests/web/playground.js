// Trains a model, starts `parsnets serve` with it, and opens the playground in the browser.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync, spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { after, before } = require("node:test");
const pages = require("./pages.js");

const ROOT = path.join(__dirname, "..", "..");
const TOOL = process.env.PARSNETS || path.join(ROOT, "build", "parsnets");
const DEMO = path.join(ROOT, "data", "demo");
const PATIENCE = 60000; // for anything that the page should do at once
const limit = { timeout: 4 * PATIENCE };

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "parsnets-playground-"));
const servers = new Set();
process.on("exit", () => {
  for (const server of servers) server.kill("SIGKILL");
  fs.rmSync(folder, { recursive: true, force: true });
});

function parsnets(...args) {
  return execFileSync(TOOL, args, { encoding: "utf8", stdio: "pipe", timeout: 5 * PATIENCE });
}

// A calibrated model of the data set.
function trainedModel(data = DEMO) {
  const model = path.join(folder, `${path.basename(data)}.safetensors`);
  if (!fs.existsSync(model)) {
    parsnets("train", "--data", data, "--out", model, "--quiet");
    parsnets("calibrate", "--model", model, "--data", data, "--false-accept", "5%", "--force", "--quiet");
  }
  return model;
}

// Resolves to {url, stop(), pause(), resume()} once the server has printed its address. One that pauses accepts
// connections and answers nothing.
function serve(args) {
  return new Promise((resolve, reject) => {
    const server = spawn(TOOL, ["serve", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    servers.add(server);
    let text = "";
    const timer = setTimeout(() => fail("no address"), PATIENCE);
    const fail = (why) => {
      clearTimeout(timer);
      server.kill("SIGKILL");
      reject(new Error(`parsnets serve ${args.join(" ")}: ${why}\n${text}`));
    };
    const ended = new Promise((done) => {
      server.on("exit", (code) => {
        servers.delete(server);
        done(code);
      });
    });
    ended.then((code) => fail(`exit code ${code}`));
    const read = (part) => {
      text += part;
      const address = /http:\/\/[^\s]+/.exec(text);
      if (!address || !/\s/.test(text.slice(address.index + address[0].length))) return;
      clearTimeout(timer);
      const stop = () => {
        server.kill("SIGTERM");
        return ended;
      };
      resolve({ url: address[0], stop, pause: () => server.kill("SIGSTOP"), resume: () => server.kill("SIGCONT") });
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
  });
}

// `expected` is for answers that are not a success: the browser itself logs each.
function openPlayground(browser, url, options = {}) {
  return pages.openWatched(browser, url, { isOwn: (one) => one.startsWith(new URL("/", url).href), ready: ".bars li", patience: PATIENCE,
    viewport: { width: 1366, height: 768 }, ...options });
}

// A browser and a server for the tests of a file; `prepare` returns the arguments of `parsnets serve`, which become
// `args`. withPage(work, {url, …}) does the work on a fresh page that has settled, and on which nothing may go wrong.
function startedServer(prepare) {
  const started = {};
  before(async () => {
    started.args = prepare();
    started.server = await serve([...started.args, "--port", "0"]);
    started.browser = await pages.launch();
  }, { timeout: 10 * PATIENCE });
  after(async () => {
    await started.browser.close();
    await started.server.stop();
  });
  started.withPage = async (work, { url = started.server.url, ...options } = {}) => {
    const view = await openPlayground(started.browser, url, options);
    try {
      if (!options.ready) await settled(view.page);
      await work(view.page);
      assert.deepEqual(view.problems, []);
    } finally {
      await view.context.close();
    }
  };
  return started;
}

const until = (page, check, argument) => pages.until(page, check, argument, PATIENCE);
const announced = (page, pattern) => until(page, (source) => [...document.querySelectorAll("#announcer p")]
  .some((one) => new RegExp(source).test(one.textContent)), pattern.source);

// Waits until no prediction is under way or due, so that what is shown is that of the bank as it is.
async function settled(page) {
  await page.evaluate(() => new Promise(requestAnimationFrame));
  await until(page, () => !document.querySelector("main[aria-busy=true]"));
}

// Holds the requests that match until the function that this resolves to is called.
async function hold(page, pattern) {
  let release = null;
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  const held = [];
  await page.route(pattern, (route) => {
    held.push(gate.then(() => route.continue()).catch(() => {}));  // the page may have given it up
  });
  return async () => {
    release();
    await Promise.all(held);
    await page.unroute(pattern);
  };
}

// Answers /v1/model as the server does, with some of it changed.
async function withModel(page, changes) {
  await page.route("**/v1/model", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...await answer.json(), ...changes } });
  });
}

// Clicks on the button, and gives what is downloaded.
async function downloaded(page, button) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
  return download;
}

// Presses buttons, one after the other.
async function press(page, ...names) {
  for (const name of names) await page.getByRole("button", { name }).click();
}

// Also waits for the predictions that follow.
async function clickAndSettle(locator) {
  await locator.click();
  await settled(locator.page());
}

const pressAndSettle = (page, name) => clickAndSettle(page.getByRole("button", { name }));

async function enter(page, text) {
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

async function reload(page) {
  await page.reload();
  await page.waitForSelector(".bars li");
  await settled(page);
}

// The words of the problem that the page tells, or is about to.
async function problemOf(page) {
  await page.waitForSelector("#problem:not([hidden])");
  return page.locator("#problem p").textContent();
}

// Opens the editor with a new class, described as another one if that is named.
async function newClass(page, name, like = null) {
  await press(page, "New class");
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  if (like) await page.getByLabel("Like").selectOption(like);
}

async function addClass(page, name, like) {
  await newClass(page, name, like);
  await press(page, "Done");
}

const slider = (page, name) => page.getByRole("slider", { name, exact: true });

async function redescribe(page, name, base, values) {
  await press(page, `Redescribe ${name}`);
  await page.getByLabel("Like").selectOption(base);
  for (const [attribute, value] of Object.entries(values)) await slider(page, attribute).fill(String(value));
  await settled(page);
}

// {all, right} of the line above the pictures of a class.
async function score(page, name) {
  await settled(page);
  const lines = await page.locator(".group-head").allTextContents();
  const found = lines.map((line) => /(\w+) (?:seen|unseen|yours)(\d+) of (\d+) classified correctly/.exec(line)).find((match) => match && match[1] === name);
  assert.ok(found, `no line about ${name} in ${lines}`);
  return { all: Number(found[3]), right: Number(found[2]) };
}

module.exports = { DEMO, ROOT, PATIENCE, TOOL, limit, folder, parsnets, trainedModel, serve, startedServer, openPlayground, until, settled, announced, hold, withModel, downloaded, press,
  clickAndSettle, pressAndSettle, enter, reload, problemOf, newClass, addClass, slider, score, redescribe };
