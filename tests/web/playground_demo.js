// A server and a browser for the tests of a file about the playground with the demo set, and what a reader does there.
"use strict";

const assert = require("node:assert/strict");
const { DEMO, trainedModel, startedServer, settled, announced, slider, redescribe } = require("./playground.js");

const started = startedServer(() => ["--model", trainedModel(), "--data", DEMO]);

// {all, right} of the line above the pictures of a class.
async function score(page, name) {
  await settled(page);
  const lines = await page.locator(".group-head").allTextContents();
  const found = lines.map((line) => /(\w+) (?:seen|unseen|yours)(\d+) of (\d+) classified correctly/.exec(line)).find((match) => match && match[1] === name);
  assert.ok(found, `no line about ${name} in ${lines}`);
  return { all: Number(found[3]), right: Number(found[2]) };
}

const tile = (page, label, index = 0) => page.locator(`.tile[aria-label^="${label},"]`).nth(index);

module.exports = { started, withPage: started.withPage, score, slider, tile, announced, redescribe };
