// The playground with the demo set: classes, pictures, and what an answer is worth.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { describe, test } = require("node:test");
const { started, withPage, score, slider, tile, announced, redescribe } = require("./playground_demo.js");
const { DEMO, limit, folder, parsnets, trainedModel, serve, until, settled, withModel, press, clickAndSettle,
  pressAndSettle, reload, newClass, addClass } = require("./playground.js");

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
      assert.equal(await page.locator(`.tile.own[aria-label^="${name},"]`).count(), right);
      assert.match(await page.locator("#effect").textContent(),
        new RegExp(`^\\d+ pictures are assigned to it: .*\\b${right} of ${name}\\b.*Of 24 pictures of ${name}, ${right} are classified as ${name}\\.$`));
      assert.match(await page.locator("#editor .sentence").textContent(), new RegExp(`^Like ${base}, but with .* and .*\\.$`));
      // It is the description that counts: with a wrong one they are not recognised.
      await page.getByLabel("Like").selectOption(other);
      const wrong = await score(page, name);
      assert.ok(wrong.right <= 4, `${wrong.right} of 24 pictures of ${name}, like a ${other}`);
    }));
  }

  test("sliders move predictions while they move; the last position wins", limit, () => withPage(async (page) => {
    await newClass(page, "heron", "bird");
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
    await reload(page);
    await press(page, "Edit heron");
    assert.equal(await page.locator("#effect").textContent(), shown);
    assert.equal(await page.getByLabel("long legs, number").inputValue(), "100");
  }));

  test("attributes are found, changed by number, and reset one by one", limit, () => withPage(async (page) => {
    await newClass(page, "okapi", "horse");
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
    await newClass(page, "okapi", "horse");
    const number = page.getByLabel("long legs, number");
    const scale = "The scale of long legs is 0 to 100";
    for (const [typed, words, value] of [["1000", `${scale}; the value is set to 100.`, "100"], ["50", "", "50"],
      ["-1", `${scale}; the value is set to 0.`, "0"], ["", `${scale}.`, "0"]]) {
      await number.fill(typed);
      await number.press("Enter");
      assert.equal(await page.locator("#value-problem").textContent(), words, typed);
      for (const field of [number, slider(page, "long legs")]) assert.equal(await field.inputValue(), value, typed);
    }
    await page.getByLabel("Find attribute").fill("no such thing");
    assert.equal(await page.locator(".sliders").innerText(), "No attributes match.");
  }));

  test("a hidden class takes no picture, and comes back", limit, () => withPage(async (page) => {
    const before = await score(page, "ship");
    assert.ok(before.right > 12);
    await pressAndSettle(page, "Hide ship");
    assert.match((await page.locator(".group-head").allTextContents()).join("\n"), /ship seen\s*24 pictures; the class is hidden/);
    assert.equal(await page.locator('.tile[aria-label$=": ship"]').count(), 0);
    await press(page, "Show ship");
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
    assert.deepEqual(reasons.filter((text) => !/^(training pictures|offset of seen classes)$/.test(text)),
      explained.attributes.slice(0, 8).map((one) => one.attribute.replace(/_/g, " ")));

    await page.getByRole("tab", { name: "Attributes in the picture" }).click();
    assert.equal(await page.locator(".seen-attributes tbody tr").count(), 10);
    await press(page, "Show all 39 attributes");
    assert.equal(await page.locator(".seen-attributes tbody tr").count(), 39);
    const row = page.locator(".seen-attributes tbody tr", { hasText: "has wheels" });
    assert.equal(await row.locator("td").last().textContent(), "100");
  }));

  test("is explained by what the favoured class has less of, too", limit, () => withPage(async (page) => {
    // The sentence says the name as it is, and the numbers of the two columns of the table.
    let lower = 0;
    for (const label of ["truck", "ship", "cat", "bird"]) {
      await clickAndSettle(tile(page, label));
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
    for (const name of ["pony", "foal"]) await addClass(page, name, "horse");
    await settled(page);
    await clickAndSettle(page.locator('.tile.own[aria-label^="horse,"]').first());
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
    assert.match(await page.locator(".verdict-name + p").textContent(), /^[A-Z].{15,}\.$/);
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
    const places = await page.locator(".tile .picture").evaluateAll((nodes) => nodes.map((node) => node.style.backgroundPosition));
    assert.equal(new Set(places).size, 24);
  }));
});

describe("what an answer is worth", () => {
  const costs = (page) => page.locator("#costs").textContent();
  const doubts = (page) => page.locator(".verdict .doubt").count();
  const rejection = { false_accept: 0.05, rejected_seen: 0.688, rejected_unseen: 0.919, auroc: 0.535 };

  test("rejection is offered with what it costs, and not advised where it hardly works", limit, () => withPage(async (page) => {
    assert.equal(await costs(page), "About 5 % of pictures of no known class are still accepted. "
      + "It also rejects 69 % of the pictures of seen classes and 92 % of the pictures of unseen classes. "
      + "Rejection hardly works for this model: it tells known from unknown pictures little better than chance (AUROC 0.54; chance is 0.5).");
    assert.equal(await page.locator("#reject").getAttribute("aria-describedby"), "costs");
    for (const name of ["deer", "truck", "cat"]) {
      await clickAndSettle(tile(page, name));
      assert.equal(await doubts(page), 0, name);
    }
  }, { before: (page) => withModel(page, { rejection }) }));

  test("what it costs is what calibration measured", limit, () => withPage(async (page) => {
    const { rejection: measured } = await (await fetch(new URL("/v1/model", started.server.url))).json();
    const shares = [measured.false_accept, measured.rejected_seen, measured.rejected_unseen].map((share) => `${Math.round(100 * share)} %`);
    assert.deepEqual((await costs(page)).match(/\d+ %/g), shares);
  }));

  test("rejection that works is hinted at", limit, () => withPage(async (page) => {
    await page.getByLabel(/^Answer "unknown" when unsure/).check();
    await clickAndSettle(page.locator(".tile.unknown").first());
    await page.getByLabel(/^Answer "unknown" when unsure/).uncheck();
    assert.equal(await doubts(page), 1);
    assert.doesNotMatch(await costs(page), /hardly works/);
  }, { before: (page) => withModel(page, { rejection: { ...rejection, auroc: 0.9 } }) }));

  test("models of which less is known say what is known", limit, () => withPage(async (page) => {
    assert.equal(await costs(page), "About 5 % of pictures of no known class are still accepted.");
  }, { before: (page) => withModel(page, { rejection: undefined, false_accept: 0.05 }) }));

  test("the share of prediction sets is no promise once classes are edited", limit, () => withPage(async (page) => {
    const note = page.locator(".prediction-set p");
    assert.equal(await note.count(), 0);
    await pressAndSettle(page, "Hide ship");
    assert.match(await note.textContent(), /nothing guarantees/);
    await pressAndSettle(page, "Undo");
    assert.equal(await note.count(), 0);
    await page.locator("#coverage").press("ArrowDown");
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.id), "coverage");
    assert.equal(await page.locator("#coverage").inputValue(), "0.95");
  }));

  test("an unseen class that takes the pictures of a seen one is explained by gamma", limit, () => withPage(async (page) => {
    const note = page.locator("#offset");
    const [, number, all, name, taker] = /^(\d+) of (\d+) pictures of (\w+) are classified as (\w+)\. .*gamma/.exec(await note.textContent());
    assert.equal(all, "24");
    assert.equal(await page.locator(`.tile[aria-label^="${name},"][aria-label$=": ${taker}"]`).count(), Number(number));
    const before = await score(page, name);
    await pressAndSettle(page, `Hide ${taker}`);
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

// Everything on the page that depends on calibration or pictures is left out.
test("a model without calibration, and samples without pictures", limit, async () => {
  const data = path.join(folder, "bare");
  fs.mkdirSync(data);
  for (const file of ["features.npy", "labels.npy", "attributes.csv", "split.json"]) fs.copyFileSync(path.join(DEMO, file), path.join(data, file));
  const model = path.join(folder, "uncalibrated.safetensors");
  parsnets("train", "--data", data, "--out", model, "--quiet");
  const bare = await serve(["--model", model, "--data", data, "--port", "0"]);
  await withPage(async (page) => {
    assert.doesNotMatch(await page.locator("main").innerText(), /null|undefined|NaN|Prediction set|when unsure/);
    assert.match(await page.locator(".tile").first().textContent(), /sample \d+/);
  }, { url: bare.url });
  await bare.stop();
  const empty = await serve(["--model", model, "--port", "0"]);
  await withPage(async (page) => {
    assert.match(await page.locator("#result-body").textContent(), /no pictures/);
    // Without pictures, nothing is said of the pictures that a class takes.
    await newClass(page, "pony");
    await settled(page);
    assert.equal(await page.locator("#effect").textContent(), "");
    await press(page, "Done");
    assert.doesNotMatch(await page.locator("main").innerText(), /take|match/);
    await press(page, "Hide ship");
    assert.match(await page.locator(".class-rows").textContent(), /ship seen\s*hidden/);
  }, { url: empty.url, ready: ".class-rows li" });
  await empty.stop();
});

// The sample number in the data set of the selected picture.
async function sampleOf(page) {
  const name = await page.locator('.tile[aria-pressed="true"]').getAttribute("aria-label");
  return Number(/sample (\d+)/.exec(name)[1]);
}
