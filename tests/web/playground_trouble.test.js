// The playground when the server is slow, hangs, is away, wants a token or refuses.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { after, before, describe, test } = require("node:test");
const { violations } = require("./pages.js");
const { DEMO, limit, folder, parsnets, trainedModel, serve, startedServer, until, settled, announced, hold, press, pressAndSettle,
  clickAndSettle, enter, reload, problemOf, newClass } = require("./playground.js");

const failures = /Failed to load resource/;
const args = ["--model", trainedModel(), "--data", DEMO];
const { withPage } = startedServer(() => args);

const busy = (page, id) => page.evaluate((name) => document.getElementById(name).getAttribute("aria-busy"), id);

describe("a slow server", () => {
  test("leaves what is out of date marked, in sight and for screen readers", limit, () => withPage(async (page) => {
    const release = await hold(page, "**/v1/predict");
    await press(page, "Hide ship");
    for (const id of ["grid", "result-body", "class-rows"]) {
      assert.equal(await busy(page, id), "true", id);
      await until(page, (name) => {
        const mark = getComputedStyle(document.getElementById(name).closest(".panel").querySelector("h2"), "::after");
        return mark.content === '"out of date"' && mark.visibility === "visible";
      }, id);
    }
    await until(page, () => [...document.querySelectorAll(".picture, .bars .bar")].every((node) => Number(getComputedStyle(node).opacity) < 0.6));
    assert.deepEqual(await violations(page), []);
    await until(page, () => document.getElementById("waiting").textContent === "Waiting for the server…");
    await release();
    await until(page, () => document.getElementById("waiting").textContent === "");
    await settled(page);
    for (const id of ["grid", "result-body", "class-rows"]) {
      assert.equal(await busy(page, id), "false", id);
      assert.equal(await page.evaluate((name) => getComputedStyle(document.getElementById(name).closest(".panel").querySelector("h2"), "::after").content, id), "none");
    }
    await until(page, () => [...document.querySelectorAll(".picture, .bars .bar")].every((node) => getComputedStyle(node).opacity === "1"));
  }));

  test("never leaves the answer of another picture beside the one that is selected", limit, () => withPage(async (page) => {
    let release = await hold(page, "**/v1/explain");
    await page.locator('.tile[aria-label^="ship,"]').first().click();
    await until(page, () => document.querySelector(".verdict-name").textContent === "…");
    assert.equal(await page.locator(".verdict .note").first().textContent(), "Its label is ship.");
    for (const part of [".bars", ".prediction-set", ".evidence"]) assert.equal(await page.locator(part).isVisible(), false, part);
    await release();
    await page.waitForSelector(".bars", { state: "visible" });
    assert.match(await page.locator(".verdict-name").textContent(), /^\w+ \d+ %$/);
    // Nor that of a picture that was given up for the next one.
    release = await hold(page, "**/v1/explain");
    for (const label of ["dog", "cat"]) await page.locator(`.tile[aria-label^="${label},"]`).first().click();
    await release();
    await until(page, () => document.querySelector(".verdict .note").textContent === "Its label is cat.");
    await settled(page);
    assert.equal(await page.locator(".verdict .note").first().textContent(), "Its label is cat.");
  }));
});

test("a server that hangs is said, and goes on when it is back", limit, async () => {
  const own = await serve([...args, "--port", "0"]);
  await withPage(async (page) => {
    own.pause();
    await press(page, "Hide ship");
    await until(page, () => document.getElementById("waiting").textContent === "Waiting for the server…");
    assert.match(await problemOf(page), /^The server does not answer\. The page resumes when it is back\.$/);
    assert.equal(await page.locator("#waiting").textContent(), "");
    assert.equal(await busy(page, "grid"), "true");
    own.resume();
    await page.waitForSelector("#problem", { state: "hidden" });
    await settled(page);
    assert.equal(await busy(page, "grid"), "false");
    assert.equal(await page.locator('.tile[aria-label$=": ship"]').count(), 0);
  }, { url: own.url, expected: failures });
  await own.stop();
});

describe("a server that stops", () => {
  test("is said, and one that comes back goes on", limit, async () => {
    const first = await serve([...args, "--port", "0"]);
    await withPage(async (page) => {
      await first.stop();
      await press(page, "Hide ship");
      assert.match(await problemOf(page), /The server does not answer\. The page resumes when it is back\./);
      // Nothing is said of classes that nobody has predicted.
      await newClass(page, "pony");
      assert.equal(await page.locator("#effect").textContent(), "");
      await press(page, "Done");
      assert.doesNotMatch(await page.locator("main").innerText(), /take|correctly/);
      const second = await serve([...args, "--port", new URL(first.url).port]);
      await page.waitForSelector("#problem", { state: "hidden" });
      await announced(page, /^The server is back\.$/);
      await settled(page);
      await until(page, () => !document.querySelector('.tile[aria-label$=": ship"]'));
      await second.stop();
    }, { url: first.url, expected: failures });
  });

  test("and comes back with a class described anew shows that description", limit, async () => {
    const model = path.join(folder, "redescribed.safetensors");
    const table = path.join(folder, "redescribed.csv");
    fs.copyFileSync(trainedModel(), model);
    const [head] = fs.readFileSync(path.join(DEMO, "attributes.csv"), "utf8").split("\n");
    fs.writeFileSync(table, `${head}\ntruck${",7".repeat(head.split(",").length - 1)}\n`);
    const first = await serve(["--model", model, "--data", DEMO, "--port", "0"]);
    await withPage(async (page) => {
      const described = () => page.evaluate(() => Page.bank.valuesOf("truck"));
      assert.ok((await described()).some((value) => value !== 7));
      await first.stop();
      await page.waitForSelector("#problem:not([hidden])");
      parsnets("classes", "remove", "--model", model, "--classes", "truck");
      parsnets("classes", "add", "--model", model, "--attributes", table, "--classes", "truck");
      const [second] = await Promise.all([serve(["--model", model, "--data", DEMO, "--port", new URL(first.url).port]), page.waitForEvent("load")]);
      await page.waitForSelector(".bars li");
      assert.ok((await described()).every((value) => value === 7));
      await second.stop();
    }, { url: first.url, expected: failures });
  });
});

describe("what the server refuses", () => {
  const place = { field: "bank.remove[9]", expected: "one class", found: "none" };
  for (const [title, error, said] of [
    ["is said in its words", { detail: "bank.add: wrong", expected: "another" }, "bank.add: wrong (expected another)."],
    ["is said with its place once", { detail: "bank.remove[9]: expected one class, found none", ...place },
      "bank.remove[9]: expected one class, found none."]]) {
    test(title, limit, () => withPage(async (page) => {
      const json = { type: "about:blank", title: "Bad Request", status: 400, ...error };
      await page.route("**/v1/predict", (route) => route.fulfill({ status: 400, json }));
      await press(page, "Hide ship");
      assert.equal(await problemOf(page), said);
      assert.equal(await busy(page, "grid"), "true");
    }, { expected: failures }));
  }

  test("is not sent: a bank without a class of the model", limit, () => withPage(async (page) => {
    await page.evaluate(() => {
      const own = ["foal", "pony"].map((name, i) => ({ id: i + 1, name, base: "horse", changes: {} }));
      const hidden = Page.bank.classes.map((one) => one.name).filter((one) => !["deer", "ship"].includes(one));
      sessionStorage.setItem(Page.bank.storageKey, JSON.stringify({ own, hidden, next: 3 }));
    });
    await reload(page);
    await press(page, "Hide ship");
    for (const button of ["Hide deer", "Redescribe deer"]) assert.equal(await page.getByRole("button", { name: button }).isDisabled(), true, button);
    await settled(page);
    // Nor is an explanation asked for where one class is left.
    await press(page, "Delete foal", "Delete pony");
    await settled(page);
    assert.match(await page.locator(".verdict-name").textContent(), /^deer 100 %$/);
    assert.equal(await page.locator("#problem").isVisible(), false);
  }));

  test("is not sent: names that are missing, taken, too long or have control characters", limit, () => withPage(async (page) => {
    const refused = [];
    page.on("response", (response) => {
      if (!response.ok()) refused.push(response.status());
    });
    await press(page, "New class");
    assert.equal(await page.locator("#name-problem").textContent(), "Give the class a name.");
    await page.getByLabel("Like").selectOption("horse");
    for (const [name, said] of [["horse", /has a class horse/],
      ["unknown", /^"unknown" is the answer for pictures of no known class\. Choose another name\.$/],
      ["字".repeat(67), /^The name is too long: it has more than 200 bytes\.$/], ["tab\there", /cannot be shown/],
      ["字".repeat(66), /^$/]]) {
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      assert.match(await page.locator("#name-problem").textContent(), said);
    }
    await settled(page);
    await page.waitForSelector("#effect:not(:empty)");
    assert.deepEqual(refused, []);
    assert.equal(await page.locator("#problem").isVisible(), false);
  }));

  test("is not sent: more classes than a request may add", limit, () => withPage(async (page) => {
    const most = await page.evaluate(() => Page.model.limits.bank_classes);
    await page.evaluate((number) => {
      const own = Array.from({ length: number }, (_, i) => ({ id: i + 1, name: `class ${i}`, base: "horse", changes: {} }));
      sessionStorage.setItem(Page.bank.storageKey, JSON.stringify({ own, hidden: [], next: own.length + 1 }));
    }, most);
    await reload(page);
    await newClass(page, "one more");
    assert.equal(await page.locator("#name-problem").textContent(), `The server takes at most ${most} classes of yours. Delete another one to use this one.`);
    await pressAndSettle(page, "Done");
    assert.equal(await page.locator("#problem").isVisible(), false);
    await clickAndSettle(page.getByRole("button", { name: "Delete class 0", exact: true }));
    assert.match(await page.locator(".class-rows .own").last().textContent(), /one more yours.*assigned to it/);
  }));
});

describe("a token", () => {
  const token = "s3cret-token-of-the-test";
  let guarded;
  let plain;
  before(async () => {
    const file = path.join(folder, "token");
    fs.writeFileSync(file, token);
    guarded = await serve([...args, "--port", "0", "--token-file", file]);
    plain = new URL("/", guarded.url).href;
  });
  after(() => guarded.stop());
  const loaded = async (page) => {
    await page.waitForSelector(".bars li");
    assert.equal(await page.locator("#token-form").isVisible(), false);
    assert.equal(await page.evaluate(() => window.location.href), plain);
  };
  const asked = { url: undefined, expected: failures, ready: "#token-form:not([hidden])" };

  test("that is missing or wrong is asked for", limit, () => withPage(async (page) => {
    assert.match(await page.locator("#token-problem").textContent(), /^The server needs a token\./);
    assert.equal(await page.getByRole("button", { name: "Add your photo" }).isDisabled(), true);
    assert.equal(await page.evaluate(() => document.activeElement.id), "token");
    assert.equal(await page.locator("#token").getAttribute("type"), "password");
    assert.deepEqual(await violations(page), []);
    await enter(page, "a wrong one");
    await until(page, () => document.getElementById("token-problem").textContent.startsWith("The server does not accept this token."));
    await enter(page, token);
    await loaded(page);
    await page.reload();  // it lasts as long as the tab
    await loaded(page);
  }, { ...asked, url: plain }));

  test("of the address is used and leaves it", limit, () => withPage(async (page) => {
    await loaded(page);
    assert.equal(await page.locator(".tile").count(), 240);
  }, { url: `${plain}#token=${encodeURIComponent(token)}` }));

  test("of the address is all that follows, also what other parts of an address would end or escape", limit, async () => {
    for (const [hash, sent] of [["#token=a&token=100%&b", "a&token=100%&b"], ["#x=1&token=a%26b%zz", "a&b%zz"], ["#token=%zz", "%zz"]]) {
      const headers = [];
      await withPage(async () => {
        assert.deepEqual([...new Set(headers)], [`Bearer ${sent}`]);
      }, { ...asked, url: `${plain}${hash}`, before: (page) => page.on("request", (request) => {
        if (request.url().includes("/v1/")) headers.push(request.headers().authorization);
      }) });
    }
  });

  test("that is no text of addresses is wrong, not an error", limit, () => withPage(async (page) => {
    assert.match(await page.locator("#token-problem").textContent(), /does not accept this token/);
    // One that is added to the address of the open page.
    await page.evaluate((hash) => {
      window.location.hash = hash;
    }, `token=${encodeURIComponent(token)}`);
    await loaded(page);
  }, { ...asked, url: `${plain}#token=%zz` }));

  test("that no header can carry is wrong, not a server that is away", limit, () => withPage(async (page) => {
    assert.match(await page.locator("#token-problem").textContent(), /^The server does not accept this token\./);
    assert.equal(await page.locator("#problem").isVisible(), false);
    await enter(page, "also wrong…");
    await until(page, () => document.getElementById("token").value === "");
    assert.equal(await page.locator("#token-form").isVisible(), true);
    await enter(page, token);
    await loaded(page);
  }, { ...asked, url: `${plain}#token=${encodeURIComponent(`${token}…`)}` }));

  test("of a server that comes back with another one is all that is asked for", limit, async () => {
    const files = [token, `${token}-2`].map((text, i) => {
      const file = path.join(folder, `token-${i}`);
      fs.writeFileSync(file, text);
      return file;
    });
    const first = await serve([...args, "--port", "0", "--token-file", files[0]]);
    const address = new URL("/", first.url);
    await withPage(async (page) => {
      await first.stop();
      await page.waitForSelector("#problem:not([hidden])");
      const second = await serve([...args, "--port", address.port, "--token-file", files[1]]);
      await page.waitForSelector("#token-form:not([hidden])");
      assert.match(await page.locator("#token-problem").textContent(), /^The server does not accept this token\./);
      assert.equal(await page.locator("#problem").isVisible(), false);
      await page.locator("#token").fill(`${token}-2`);
      await page.keyboard.press("Enter");
      await page.waitForSelector("#token-form", { state: "hidden" });
      await settled(page);
      await second.stop();
    }, { url: `${address.href}#token=${token}`, expected: failures });
  });
});
