// The playground with the demo set: what a reader does on it, against a server that runs.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, describe, test } = require("node:test");
const { launch } = require("./pages.js");
const { DEMO, PATIENCE, TOOL, folder, parsnets, trainedModel, serve, openPlayground, until, settled, withModel } = require("./playground.js");

const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const limit = { timeout: 4 * PATIENCE };

let browser;
let server;
before(async () => {
  browser = await launch();
  server = await serve(["--model", trainedModel(), "--data", DEMO, "--port", "0"]);
});
after(async () => {
  await server.stop();
  await browser.close();
});

// work(page) on a fresh page, on which nothing may go wrong.
async function withPage(work, options) {
  const view = await openPlayground(browser, server.url, options);
  try {
    await settled(view.page);
    await work(view.page);
    assert.deepEqual(view.problems, []);
  } finally {
    await view.context.close();
  }
}

// {all, right} of the line above the pictures of a class.
async function score(page, name) {
  await settled(page);
  const lines = await page.locator(".group-head").allTextContents();
  const found = lines.map((line) => /(\w+) (?:seen|unseen|yours)(\d+) of (\d+) classified correctly/.exec(line)).find((match) => match && match[1] === name);
  assert.ok(found, `no line about ${name} in ${lines}`);
  return { all: Number(found[3]), right: Number(found[2]) };
}

const slider = (page, name) => page.getByRole("slider", { name, exact: true });
const tile = (page, label, index = 0) => page.locator(`.tile[aria-label^="${label},"]`).nth(index);
const announced = (page, pattern) => until(page, (source) => [...document.querySelectorAll("#announcer p")].some((one) => new RegExp(source).test(one.textContent)), pattern.source);

async function redescribe(page, name, base, values) {
  await page.getByRole("button", { name: `Redescribe ${name}` }).click();
  await page.getByLabel("Like").selectOption(base);
  for (const [attribute, value] of Object.entries(values)) await slider(page, attribute).fill(String(value));
  await settled(page);
}

describe("a class the model was never trained on", () => {
  // Written from common knowledge. Ten classes compete: with 24 pictures, 7 right have a chance of 0.7 % by guessing.
  const described = {
    deer: ["horse", "ship", { antlers: 80, mane: 0, farm: 0, wild: 100, "in forest": 90, "carries people": 0, "used for work": 0, pet: 0 }],
    truck: ["automobile", "frog", { "carries cargo": 100, "used for work": 100, boxy: 100, big: 90, "carries people": 30, streamlined: 0 }],
  };
  for (const [name, [base, other, values]] of Object.entries(described)) {
    test(`${name}, described with sliders, is recognised better than by chance`, limit, () => withPage(async (page) => {
      await redescribe(page, name, base, values);
      const { all, right } = await score(page, name);
      assert.equal(all, 24);
      assert.ok(right >= 7, `${right} of ${all} pictures of ${name}`);
      const stars = await page.locator(`.tile.own[aria-label^="${name},"]`).count();
      assert.equal(stars, right);
      const effect = await page.locator("#effect").textContent();
      assert.match(effect, new RegExp(`^It takes \\d+ pictures: .*\\b${right} of ${name}\\b.*Of 24 pictures of ${name}, ${right} are classified as ${name}\\.$`));
      const sentence = await page.locator("#editor .sentence").textContent();
      assert.match(sentence, new RegExp(`^Like ${base}, but with .* and .*\\.$`));
      // It is the description that counts: with a wrong one they are not recognised.
      await page.getByLabel("Like").selectOption(other);
      const wrong = await score(page, name);
      assert.ok(wrong.right <= 4, `${wrong.right} of 24 pictures of ${name}, like a ${other}`);
    }));
  }

  test("sliders move predictions while they move; the last position wins", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("heron");
    await page.getByLabel("Like").selectOption("bird");
    let requests = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/v1/predict") && request.postData().includes('"all"')) requests += 1;
    });
    // As a pointer does: an event every few milliseconds.
    await slider(page, "long legs").evaluate(async (node) => {
      for (let value = 0; value <= 100; value += 1) {
        node.value = value;
        node.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resume) => setTimeout(resume, 3));
      }
    });
    await settled(page);
    assert.ok(requests >= 2 && requests < 60, `${requests} requests for 101 positions`);
    const shown = await page.locator("#effect").textContent();
    assert.equal(await page.getByLabel("long legs, number").inputValue(), "100");
    // The same class from the start gives the same answer.
    await page.reload();
    await page.waitForSelector(".bars li");
    await settled(page);
    await page.getByRole("button", { name: "Edit heron" }).click();
    assert.equal(await page.locator("#effect").textContent(), shown);
    assert.equal(await page.getByLabel("long legs, number").inputValue(), "100");
  }));

  test("attributes are found, changed by number, and reset one by one", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("okapi");
    await page.getByLabel("Like").selectOption("horse");
    await page.getByLabel("Find attribute").fill("LEG");
    assert.deepEqual(await page.locator(".sliders li:visible .attribute-name").allTextContents(), ["four legs", "long legs"]);
    await page.getByLabel("long legs, number").fill("12.5");
    await page.keyboard.press("Tab");
    assert.equal(await page.locator("#editor .sentence").textContent(), "Like horse, but with long legs 12.5.");
    const reset = page.getByRole("button", { name: "Reset long legs to 95" });
    assert.equal(await reset.isEnabled(), true);
    await page.getByLabel("Find attribute").fill("");
    await page.getByLabel("Only changed").check();
    assert.deepEqual(await page.locator(".sliders li:visible .attribute-name").allTextContents(), ["long legs"]);
    await reset.click();
    assert.equal(await page.locator("#editor .sentence").textContent(), "Like horse. Move the sliders of what differs.");
    await page.getByLabel("Only changed").uncheck();
    assert.equal(await slider(page, "long legs").inputValue(), "95");
  }));

  test("a value out of the scale becomes the nearest, and the page says which", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("okapi");
    await page.getByLabel("Like").selectOption("horse");
    const number = page.getByLabel("long legs, number");
    const type = async (value) => {
      await number.fill(value);
      await number.press("Enter");
    };
    const said = () => page.locator("#value-problem").textContent();
    await type("1000");
    assert.equal(await said(), "The scale of long legs is 0 to 100; the value is set to 100.");
    assert.equal(await number.inputValue(), "100");
    assert.equal(await slider(page, "long legs").inputValue(), "100");
    await type("50");
    assert.equal(await said(), "");
    await type("-1");
    assert.equal(await number.inputValue(), "0");
    await type("");
    assert.equal(await said(), "The scale of long legs is 0 to 100.");
    assert.equal(await number.inputValue(), "0");
    await page.getByLabel("Find attribute").fill("no such thing");
    assert.equal(await page.locator(".sliders").innerText(), "No attributes match.");
  }));

  test("names that are taken, or missing, are said and not sent", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    assert.equal(await page.locator("#name-problem").textContent(), "Give the class a name.");
    await page.getByRole("textbox", { name: "Name" }).fill("horse");
    assert.match(await page.locator("#name-problem").textContent(), /has a class horse/);
    await page.getByRole("textbox", { name: "Name" }).fill("unknown");
    assert.equal(await page.locator("#name-problem").textContent(), '"unknown" is the answer for pictures of no known class. Choose another name.');
    await page.getByRole("textbox", { name: "Name" }).fill("pony");
    assert.equal(await page.locator("#name-problem").textContent(), "");
    await settled(page);
    assert.equal(await page.locator("#problem").isVisible(), false);
  }));

  test("a hidden class takes no picture, and comes back", limit, () => withPage(async (page) => {
    const before = await score(page, "ship");
    assert.ok(before.right > 12);
    await page.getByRole("button", { name: "Hide ship" }).click();
    await settled(page);
    assert.match((await page.locator(".group-head").allTextContents()).join("\n"), /ship seen\s*24 pictures; the class is hidden/);
    assert.equal(await page.locator('.tile[aria-label$=": ship"]').count(), 0);
    await page.getByRole("button", { name: "Show ship" }).click();
    assert.deepEqual(await score(page, "ship"), before);
  }));
});

describe("a picture", () => {
  test("has ranked classes, a prediction set, attributes and an explanation", limit, () => withPage(async (page) => {
    await tile(page, "truck", 3).click();
    await announced(page, /^truck: \w+, /);
    const shares = (await page.locator(".bars .value").allTextContents()).map((text) => parseFloat(text.replace("<", "")));
    assert.equal(shares.length, 5);
    assert.deepEqual(shares, [...shares].sort((a, b) => b - a));
    const [best, second] = await page.locator(".bars .class-tag").allTextContents();
    assert.match(best, /(seen|unseen)$/);
    const [name, runnerUp] = [best, second].map((text) => /(\w+) (?:seen|unseen)$/.exec(text)[1]);
    assert.match(await page.locator(".verdict-name").textContent(), new RegExp(`^${name} \\d`));
    assert.ok((await page.locator(".prediction-set strong").textContent()).startsWith(name));

    // The larger the coverage, the larger the set.
    const sizes = [];
    for (const coverage of ["0.8", "0.9", "0.99"]) {
      await page.getByLabel("Meant to contain the right class for").selectOption(coverage);
      await settled(page);
      sizes.push((await page.locator(".prediction-set strong").textContent()).split(/, | and /).length);
    }
    assert.ok(sizes[0] <= sizes[1] && sizes[1] <= sizes[2] && sizes[0] < sizes[2], String(sizes));

    assert.equal(await page.getByRole("tab", { name: `Why not ${runnerUp}?` }).getAttribute("aria-selected"), "true");
    const explained = JSON.parse(parsnets("explain", "--model", trainedModel(), "--input", path.join(DEMO, "features.npy"), "--row", String(await sampleOf(page)), "--json"));
    assert.deepEqual([explained.winner, explained.runner_up], [name, runnerUp]);
    const reasons = await page.locator(".why tbody th").allTextContents();
    assert.deepEqual(reasons.filter((text) => !/^(training pictures|handicap of seen classes)$/.test(text)),
      explained.attributes.slice(0, 8).map((one) => one.attribute.replace(/_/g, " ")));

    await page.getByRole("tab", { name: "Attributes in the picture" }).click();
    assert.equal(await page.locator(".seen-attributes tbody tr").count(), 10);
    await page.getByRole("button", { name: "Show all 39 attributes" }).click();
    assert.equal(await page.locator(".seen-attributes tbody tr").count(), 39);
    const row = page.locator(".seen-attributes tbody tr", { hasText: "has wheels" });
    assert.equal(await row.locator("td").last().textContent(), "100");
  }));

  test("is explained by what the favoured class has less of, too", limit, () => withPage(async (page) => {
    // The sentence says the name as it is, and the numbers of the two columns of the table.
    let lower = 0;
    for (const label of ["truck", "ship", "cat", "bird"]) {
      await tile(page, label).click();
      await settled(page);
      const table = new Map(await page.locator(".why tbody tr").evaluateAll((rows) => rows.map((row) => {
        const [one, other] = [...row.querySelectorAll("td")].map((cell) => cell.textContent);
        return [row.querySelector("th").textContent, [one, other]];
      })));
      const text = await page.locator(".evidence p").textContent();
      assert.match(text, /^For \w+: /);
      for (const [i, part] of [...text.matchAll(/For \w+: (.+?\))\. /g)].entries()) {
        for (const words of part[1].split(/(?<=\)), |(?<=\)) and /)) {
          const [, way, name, one, other] = /^(lower|higher) "(.*)" \((.+) vs\. (.+)\)$/.exec(words);
          assert.equal(way, Number(one) < Number(other) ? "lower" : "higher");
          assert.deepEqual(i === 0 ? [one, other] : [other, one], table.get(name), `${words} in "${text}"`);
          lower += Number(one) < Number(other) ? 1 : 0;
        }
      }
    }
    assert.ok(lower > 0, "no attribute is lower");
  }));

  test("has no reason between two classes that are described alike", limit, () => withPage(async (page) => {
    for (const name of ["pony", "foal"]) {
      await page.getByRole("button", { name: "New class" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.getByLabel("Like").selectOption("horse");
      await page.getByRole("button", { name: "Done" }).click();
    }
    await settled(page);
    await page.locator('.tile.own[aria-label^="horse,"]').first().click();
    await settled(page);
    assert.match(await page.locator(".evidence").textContent(), /^(pony and foal|foal and pony) have the same description\. $/);
    assert.equal(await page.locator(".why").count(), 0);
  }));

  test("is called unknown, with the reason, when that is allowed", limit, () => withPage(async (page) => {
    await page.getByLabel(/^Answer "unknown" when unsure/).check();
    await settled(page);
    const unknown = page.locator(".tile.unknown");
    const number = await unknown.count();
    assert.ok(number > 0 && number < 240, `${number} unknown`);
    await unknown.first().click();
    await until(page, () => document.querySelector(".verdict-name").textContent === "unknown");
    const why = await page.locator(".verdict-name + p").textContent();
    assert.match(why, /^[A-Z].{15,}\.$/);
    assert.equal(await page.locator("#result h3").first().textContent(), "Nearest classes");
    await page.getByLabel("Classified as").selectOption("unknown");
    assert.equal(await page.locator(".tile").count(), number);
    await page.getByLabel(/^Answer "unknown" when unsure/).uncheck();
    assert.equal(await page.locator(".tile.unknown").count(), 0);
    assert.equal(await page.locator(".tile").count(), 240);
  }));

  test("is found by class, and among unseen classes only", limit, () => withPage(async (page) => {
    await page.getByLabel("Only unseen classes").check();
    assert.equal(await page.locator(".tile").count(), 48);
    await page.locator("[data-filter=label] select").selectOption("deer");
    assert.equal(await page.locator(".tile").count(), 24);
    await page.getByLabel("Only unseen classes").uncheck();
    await page.locator("[data-filter=label] select").selectOption("cat");
    assert.equal(await page.locator('.tile[aria-label^="cat,"]').count(), 24);
    // Each shows a picture of its own.
    const places = await page.locator(".tile .picture").evaluateAll((nodes) => nodes.map((node) => node.style.backgroundPosition));
    assert.equal(new Set(places).size, 24);
  }));
});

describe("what an answer is worth", () => {
  const price = (page) => page.locator("#price").textContent();
  const doubts = (page) => page.locator(".verdict .doubt").count();
  const rejection = { false_accept: 0.05, rejected_seen: 0.688, rejected_unseen: 0.919, auroc: 0.535 };

  test("rejection is offered with its price, and not advised where it hardly works", limit, () => withPage(async (page) => {
    assert.equal(await price(page), "About 5 % of pictures of no known class are still accepted. "
      + "The price: 69 % of the pictures of seen classes and 92 % of the pictures of unseen classes are also rejected. "
      + "Rejection hardly works for this model: it tells known from unknown pictures little better than chance (AUROC 0.54; chance is 0.5).");
    assert.equal(await page.locator("#reject").getAttribute("aria-describedby"), "price");
    for (const name of ["deer", "truck", "cat"]) {
      await tile(page, name).click();
      await settled(page);
      assert.equal(await doubts(page), 0, name);
    }
  }, { before: (page) => withModel(page, { rejection }) }));

  test("the price is the one that calibration measured", limit, () => withPage(async (page) => {
    const { rejection: measured } = await (await fetch(new URL("/v1/model", server.url))).json();
    const shares = [measured.false_accept, measured.rejected_seen, measured.rejected_unseen].map((share) => `${Math.round(100 * share)} %`);
    assert.deepEqual((await price(page)).match(/\d+ %/g), shares);
  }));

  test("rejection that works is hinted at", limit, () => withPage(async (page) => {
    await page.getByLabel(/^Answer "unknown" when unsure/).check();
    await page.locator(".tile.unknown").first().click();
    await settled(page);
    await page.getByLabel(/^Answer "unknown" when unsure/).uncheck();
    assert.equal(await doubts(page), 1);
    assert.doesNotMatch(await price(page), /hardly works/);
  }, { before: (page) => withModel(page, { rejection: { ...rejection, auroc: 0.9 } }) }));

  test("models of which less is known say what is known", limit, () => withPage(async (page) => {
    assert.equal(await price(page), "About 5 % of pictures of no known class are still accepted.");
  }, { before: (page) => withModel(page, { rejection: undefined, false_accept: 0.05 }) }));

  test("the share of prediction sets is no promise once classes are edited", limit, () => withPage(async (page) => {
    const note = page.locator(".prediction-set p");
    assert.equal(await note.count(), 0);
    await page.getByRole("button", { name: "Hide ship" }).click();
    await settled(page);
    assert.match(await note.textContent(), /nothing guarantees/);
    await page.getByRole("button", { name: "Undo" }).click();
    await settled(page);
    assert.equal(await note.count(), 0);
    // The choice keeps the focus.
    await page.locator("#coverage").focus();
    await page.keyboard.press("ArrowDown");
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.id), "coverage");
    assert.equal(await page.locator("#coverage").inputValue(), "0.95");
  }));

  test("an unseen class that takes the pictures of a seen one is explained by gamma", limit, () => withPage(async (page) => {
    const note = page.locator("#handicap");
    const [, number, all, name, taker] = /^(\d+) of (\d+) pictures of (\w+) are classified as (\w+)\. .*gamma/.exec(await note.textContent());
    assert.equal(all, "24");
    assert.equal(await page.locator(`.tile[aria-label^="${name},"][aria-label$=": ${taker}"]`).count(), Number(number));
    const before = await score(page, name);
    await page.getByRole("button", { name: `Hide ${taker}` }).click();
    await settled(page);
    assert.doesNotMatch(await note.textContent(), new RegExp(` as ${taker}\\.`));
    assert.ok((await score(page, name)).right > before.right);
  }));

  test("pictures that are classified wrongly can be seen as well as others", limit, () => withPage(async (page) => {
    for (const kind of ["wrong", "unknown"]) {
      if (kind === "unknown") await page.getByLabel(/^Answer "unknown" when unsure/).check();
      assert.equal(await page.locator(`.tile.${kind} .picture`).first().evaluate((node) => getComputedStyle(node).opacity), "1");
    }
  }));

  test("tables have a visible head above each column of numbers", limit, () => withPage(async (page) => {
    await page.locator("#tab-attributes").click();
    const heads = page.locator(".seen-attributes thead th");
    const best = (await page.locator(".verdict-name").textContent()).split(" ")[0];
    assert.deepEqual((await heads.allTextContents()).slice(2), ["Picture", best]);
    for (const i of [2, 3]) assert.ok((await heads.nth(i).boundingBox()).width > 20);
    await page.locator("#tab-why").click();
    for (const text of await page.locator(".why tbody .amount").allTextContents()) assert.match(text, /^(\+|−)\d\.\d{3}$/);
    assert.ok((await page.locator(".why tbody .amount").first().boundingBox()).width > 10);
  }));
});

describe("a model", () => {
  // Everything on the page that depends on calibration or pictures is left out.
  test("without calibration, and samples without pictures", limit, async () => {
    const data = path.join(folder, "bare");
    fs.mkdirSync(data);
    for (const file of ["features.npy", "labels.npy", "attributes.csv", "split.json"]) fs.copyFileSync(path.join(DEMO, file), path.join(data, file));
    const model = path.join(folder, "uncalibrated.safetensors");
    parsnets("train", "--data", data, "--out", model, "--quiet");
    const bare = await serve(["--model", model, "--data", data, "--port", "0"]);
    const view = await openPlayground(browser, bare.url);
    const text = await view.page.locator("main").innerText();
    assert.doesNotMatch(text, /null|undefined|NaN|Prediction set|when unsure/);
    assert.match(await view.page.locator(".tile").first().textContent(), /sample \d+/);
    assert.deepEqual(view.problems, []);
    await view.context.close();
    await bare.stop();
    // Nor does it need samples.
    const empty = await serve(["--model", model, "--port", "0"]);
    const plain = await openPlayground(browser, empty.url, { ready: ".class-rows li" });
    assert.match(await plain.page.locator("#result-body").textContent(), /no pictures/);
    // Without pictures, nothing is said of the pictures that a class takes.
    await plain.page.getByRole("button", { name: "New class" }).click();
    await plain.page.getByRole("textbox", { name: "Name" }).fill("pony");
    await settled(plain.page);
    assert.equal(await plain.page.locator("#effect").textContent(), "");
    await plain.page.getByRole("button", { name: "Done" }).click();
    assert.doesNotMatch(await plain.page.locator("main").innerText(), /take|match/);
    await plain.page.getByRole("button", { name: "Hide ship" }).click();
    assert.match(await plain.page.locator(".class-rows").textContent(), /ship seen\s*hidden/);
    assert.deepEqual(plain.problems, []);
    await plain.context.close();
    await empty.stop();
  });
});

// The sample number in the data set of the selected picture.
async function sampleOf(page) {
  const name = await page.locator('.tile[aria-pressed="true"]').getAttribute("aria-label");
  return Number(/sample (\d+)/.exec(name)[1]);
}

describe("edits", () => {
  test("are undone and redone, by buttons and by keys", limit, () => withPage(async (page) => {
    const before = await score(page, "deer");
    await redescribe(page, "deer", "horse", { wild: 100, farm: 0 });
    const after = await score(page, "deer");
    const wild = () => slider(page, "wild").inputValue();
    await page.keyboard.press("Control+z");
    await announced(page, /^Undone: farm of deer\.$/);
    assert.equal(await slider(page, "farm").inputValue(), "90");
    assert.equal(await wild(), "100");
    await page.getByRole("button", { name: "Undo" }).click();
    assert.equal(await wild(), "15");
    await page.keyboard.press("Control+Shift+z");
    await announced(page, /^Redone: wild of deer\.$/);
    await page.getByRole("button", { name: "Redo" }).click();
    assert.deepEqual(await score(page, "deer"), after);
    for (let i = 0; i < 4; i += 1) await page.getByRole("button", { name: "Undo" }).click();
    assert.equal(await page.getByRole("button", { name: "Undo" }).isDisabled(), true);
    assert.equal(await page.locator("#editor").isVisible(), false);
    assert.deepEqual(await score(page, "deer"), before);
    // A new edit ends what could be redone.
    await page.getByRole("button", { name: "Hide ship" }).click();
    assert.equal(await page.getByRole("button", { name: "Redo" }).isDisabled(), true);
  }));

  test("are exported as a table that `classes add` takes, with the same answers", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { antlers: 80, mane: 0, wild: 100 });
    const { right } = await score(page, "deer");
    await page.getByRole("button", { name: "Done" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
    assert.equal(download.suggestedFilename(), "classes.csv");
    const table = path.join(folder, "classes.csv");
    await download.saveAs(table);
    await page.waitForSelector(".exported pre");
    const commands = (await page.locator(".exported pre").textContent()).split("\n");
    assert.equal(commands.length, 2);
    const model = path.join(folder, "edited.safetensors");
    fs.copyFileSync(trainedModel(), model);
    for (const command of commands) {
      const [tool, ...args] = command.split(" ");
      assert.equal(tool, "parsnets");
      parsnets(...args.map((word) => ({ "demo.safetensors": model, "classes.csv": table })[word] || word));
    }
    const rows = await page.locator('.tile[aria-label^="deer,"]').evaluateAll((nodes) => nodes.map((node) => Number(/sample (\d+)/.exec(node.ariaLabel)[1])));
    const predicted = JSON.parse(parsnets("predict", "--model", model, "--input", path.join(DEMO, "features.npy"), "--top", "1", "--json")).predictions;
    assert.equal(rows.filter((sample) => predicted[sample].top[0].class === "deer").length, right);
  }));

  test("are saved as a bank for the device file that the page's command writes", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { antlers: 80 });
    await page.getByRole("button", { name: "Done" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Device bank" }).click()]);
    assert.equal(download.suggestedFilename(), "classes.bank");
    const file = path.join(folder, "classes.bank");
    await download.saveAs(file);
    await page.waitForSelector(".exported pre");
    const work = fs.mkdtempSync(path.join(folder, "device-"));
    fs.copyFileSync(trainedModel(), path.join(work, path.basename(trainedModel())));
    const script = (await page.locator(".exported pre").textContent()).replace(/^parsnets/gm, '"$TOOL"');
    execFileSync("sh", ["-euc", script], { cwd: work, env: { ...process.env, TOOL }, stdio: "pipe" });
    const device = fs.readFileSync(path.join(work, path.basename(trainedModel()).replace(".safetensors", ".pnrt")));
    const bank = fs.readFileSync(file);
    assert.equal(bank.toString("latin1", 0, 8), "PNRTBANK");
    assert.equal(bank.readUInt32LE(20), device.readUInt32LE(16), "the bank belongs to that file");
    assert.equal(bank.readUInt32LE(24), 1, "one class is added");
    assert.ok(bank.includes(Buffer.from("deer\0")));
  }));

  test("a class of yours is deleted, and the deletion undone", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("pony");
    await page.getByLabel("Like").selectOption("horse");
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Delete pony" }).click();
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    await page.keyboard.press("Control+z");
    assert.match(await page.locator(".class-rows .own").textContent(), /pony yours/);
  }));

  test("a class that was redescribed and is deleted comes back as it was", limit, () => withPage(async (page) => {
    const before = await score(page, "deer");
    await redescribe(page, "deer", "ship", {});
    await page.getByRole("button", { name: "Delete" }).click();
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    assert.deepEqual(await score(page, "deer"), before);
    await page.keyboard.press("Control+z");
    assert.match(await page.locator(".class-rows .own").textContent(), /deer yours/);
    assert.match(await page.locator(".class-rows").textContent(), /deer unseen\s*hidden/);
  }));

  test("the commands of an export go when the classes change", limit, () => withPage(async (page) => {
    const commands = page.locator(".exported pre");
    const save = async () => {
      await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
      await page.waitForSelector(".exported p");
    };
    await page.getByRole("button", { name: "Hide ship" }).click();
    await save();
    assert.match(await commands.textContent(), / --names ship$/);
    await page.getByRole("button", { name: "Undo" }).click();
    assert.equal(await page.locator(".exported").textContent(), "");
    await save();
    await page.getByRole("button", { name: "Hide cat" }).click();
    assert.equal(await page.locator(".exported").textContent(), "");
  }));

  test("names with commas and quotes are quoted in the commands of an export", limit, () => withPage(async (page) => {
    const name = 'bull, "tame" or farmer\'s';
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill(name);
    await page.getByLabel("Like").selectOption("horse");
    await page.getByRole("button", { name: "Done" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
    await page.waitForSelector(".exported pre");
    const work = fs.mkdtempSync(path.join(folder, "quoted-"));
    await download.saveAs(path.join(work, "classes.csv"));
    fs.copyFileSync(trainedModel(), path.join(work, path.basename(trainedModel())));
    // As a reader pastes them.
    const script = (await page.locator(".exported pre").textContent()).replace(/^parsnets/gm, '"$TOOL"');
    execFileSync("sh", ["-euc", script], { cwd: work, env: { ...process.env, TOOL }, stdio: "pipe" });
    const listed = parsnets("classes", "list", "--model", path.join(work, path.basename(trainedModel())));
    assert.ok(listed.includes(name), listed);
  }));
});

describe("keyboard", () => {
  // Presses Tab until the element has the focus.
  async function tabTo(page, selector, key = "Tab") {
    for (let i = 0; i < 300; i += 1) {
      if (await page.evaluate((one) => document.activeElement.matches(one), selector)) return;
      await page.keyboard.press(key);
    }
    assert.fail(`Tab never reaches ${selector}`);
  }

  test("alone reaches a picture and makes a class", limit, () => withPage(async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    await tabTo(page, ".tile");
    const at = () => page.evaluate(() => [...document.querySelectorAll(".tile")].indexOf(document.activeElement));
    assert.equal(await at(), 0);
    await page.keyboard.press("ArrowRight");
    assert.equal(await at(), 1);
    await page.keyboard.press("ArrowDown");
    const below = await at();
    assert.ok(below > 1 && below < 24, `tile ${below}`);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await at(), 0);
    await page.keyboard.press("End");
    assert.equal(await at(), 239);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-pressed")), "true");
    await announced(page, /%\.$/);
    assert.ok(await page.evaluate(() => parseFloat(getComputedStyle(document.activeElement).outlineWidth) >= 2), "the focus is visible");
    await tabTo(page, "#tab-why");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-attributes");
    await tabTo(page, "#new-class");
    await page.keyboard.press("Enter");
    await page.keyboard.type("zebra");
    await tabTo(page, "#class-base");
    await page.keyboard.press("h");  // more letters may come too slowly to count as one word
    await tabTo(page, "input[type=search]");
    await page.keyboard.type("wild");
    await tabTo(page, "input[type=range]");
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "wild");
    await page.keyboard.press("End");
    await announced(page, /^It takes /);
    assert.equal(await page.locator("#editor .sentence").textContent(), "Like horse, but with wild 100.");
    await tabTo(page, "#done", "Shift+Tab");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "new-class");
    assert.match(await page.locator(".class-rows .own").textContent(), /zebra yours/);
  }));
});

describe("the editor", () => {
  const open = (page) => page.locator("#editor").isVisible();
  const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.ariaLabel);
  const name = (page) => page.getByRole("textbox", { name: "Name" });

  test("keeps no class that nobody has touched", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByRole("button", { name: "Done" }).click();
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Undo" }).isDisabled(), true);
    await page.getByRole("button", { name: "New class" }).click();
    await page.reload();
    await page.waitForSelector(".bars li");
    assert.equal(await page.locator(".class-rows .own").count(), 0);
    // One that has been described is kept, also without a name.
    await page.getByRole("button", { name: "New class" }).click();
    await page.getByLabel("Like").selectOption("horse");
    await page.getByRole("button", { name: "Done" }).click();
    assert.match(await page.locator(".class-rows .own").textContent(), /unnamed/);
  }));

  test("is closed by Escape, with the focus where it was", limit, () => withPage(async (page) => {
    await page.getByRole("button", { name: "New class" }).click();
    await name(page).fill("pony");
    await page.getByLabel("Find attribute").fill("wild");
    await page.keyboard.press("Escape");  // empties the field first
    assert.equal(await open(page), true);
    assert.equal(await page.getByLabel("Find attribute").inputValue(), "");
    await page.keyboard.press("Escape");
    assert.equal(await open(page), false);
    assert.equal(await focused(page), "new-class");
    await page.getByRole("button", { name: "Edit pony" }).click();
    await name(page).fill("foal");
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "Edit foal");
    await page.getByRole("button", { name: "Redescribe deer" }).click();
    await page.keyboard.press("Escape");
    assert.equal(await focused(page), "Edit deer");
  }));

  test("is closed by Back, and opened again by Forward", limit, () => withPage(async (page) => {
    const { href } = await page.evaluate(() => ({ href: window.location.href }));
    await page.getByRole("button", { name: "New class" }).click();
    await name(page).fill("pony");
    await page.goBack();
    await until(page, () => document.getElementById("editor").hidden);
    assert.equal(page.url(), href);
    assert.match(await page.locator(".class-rows .own").textContent(), /pony/);
    await page.goForward();
    await until(page, () => !document.getElementById("editor").hidden);
    assert.equal(await name(page).inputValue(), "pony");
    // Closed by Done and opened again and again: Back still leaves the page at once.
    for (let i = 0; i < 3; i += 1) {
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("button", { name: "Edit pony" }).click();
    }
    await page.getByRole("button", { name: "Done" }).click();
    await page.locator(".skip").focus();
    await page.keyboard.press("Enter");
    assert.equal(await focused(page), "pictures");
    await Promise.all([page.waitForURL("about:blank"), page.evaluate(() => window.history.back())]);
  }));

  test("shows on a phone the pictures that the class takes, while sliders move", limit, () => withPage(async (page) => {
    await redescribe(page, "deer", "horse", { wild: 100 });
    await slider(page, "eats plants").evaluate((node) => node.scrollIntoView({ block: "center" }));
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    const taken = Number(/^It takes (\d+)/.exec(await page.locator("#effect").textContent())[1]);
    assert.equal(await page.locator(".strip span").first().textContent(), `Takes ${taken}`);
    const visible = () => page.locator(".strip .picture").evaluateAll((nodes) => nodes.filter((node) => {
      const box = node.getBoundingClientRect();
      const strip = node.parentElement.getBoundingClientRect();
      return box.top >= 0 && box.bottom <= strip.bottom && box.right <= window.innerWidth && strip.bottom <= window.innerHeight;
    }).map((node) => node.style.backgroundPosition));
    const before = await visible();
    assert.ok(before.length >= 6, `${before.length} thumbnails`);
    assert.equal(await page.locator("#grid").evaluate((node) => node.getBoundingClientRect().bottom < 0), true);
    await page.locator(".sliders input[type=range]").evaluateAll((nodes) => nodes.forEach((node) => {
      node.value = 0;
      node.dispatchEvent(new Event("input", { bubbles: true }));
    }));
    await until(page, (number) => document.querySelector(".strip span").textContent !== `Takes ${number}`, taken);
  }, { viewport: { width: 360, height: 480 } }));
});

describe("forced colours", () => {
  test("leave bars, the chosen tab and numbers to see", limit, () => withPage(async (page) => {
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
});

describe("accessibility", () => {
  for (const [scheme, width] of [["light", 1366], ["dark", 1366], ["light", 360], ["dark", 360]]) {
    test(`no overflow, no axe violation: ${scheme}, ${width} px`, limit, () => withPage(async (page) => {
      const check = async (state) => {
        await settled(page);
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), scheme);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${state}: the page scrolls sideways`);
        const wide = await page.evaluate(() => [...document.querySelectorAll("body *")].filter((node) => {
          const box = node.getBoundingClientRect();
          return box.width > 0 && box.right > window.innerWidth + 1 && !node.closest(".visually-hidden");
        }).map((node) => `${node.tagName}.${node.className}`));
        assert.deepEqual(wide, [], state);
        const violations = await page.evaluate(async () => (await window.axe.run(document)).violations
          .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`).join(" | ")}`));
        assert.deepEqual(violations, [], state);
      };
      await page.evaluate(axeSource);
      await check("at first");
      await page.getByLabel(/^Answer "unknown" when unsure/).check();
      await page.getByRole("tab", { name: "Attributes in the picture" }).click();
      await page.getByRole("button", { name: "Hide cat" }).click();
      await page.getByRole("button", { name: "Export" }).click();
      await page.waitForSelector(".exported pre");
      await check("unknown, hidden, exported");
      await redescribe(page, "deer", "horse", { wild: 100 });
      await page.getByRole("textbox", { name: "Name" }).fill("dog");
      await check("editor");
      for (const name of ["W".repeat(100), "W ".repeat(50).trim()]) {
        await page.getByRole("textbox", { name: "Name" }).fill(name);
        await page.getByLabel("Like").selectOption("deer");
        await check("editor, long name");
        await page.getByRole("button", { name: "Done" }).click();
        await page.locator(".tile.own").first().click();
        await page.getByRole("tab").first().click();
        await check("long name");
        await page.locator(".class-rows .own button").first().click();
      }
    }, { viewport: { width, height: 768 }, colorScheme: scheme, reducedMotion: "reduce" }));
  }

  test("fits a laptop's screen, and the switch changes the theme", limit, () => withPage(async (page) => {
    assert.ok(await page.evaluate(() => document.documentElement.scrollHeight <= window.innerHeight));
    await page.getByRole("button", { name: "Dark theme" }).click();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    assert.equal(await page.getByRole("button", { name: "Light theme" }).getAttribute("aria-pressed"), null);
    await page.reload();
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  }));
});
