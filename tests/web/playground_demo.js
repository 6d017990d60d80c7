// A server and a browser for the tests of a file about the playground with the demo set, and what a reader does there.
"use strict";

const { DEMO, trainedModel, startedServer, announced, slider, score, redescribe } = require("./playground.js");

const started = startedServer(() => ["--model", trainedModel(), "--data", DEMO]);

const tile = (page, label, index = 0) => page.locator(`.tile[aria-label^="${label},"]`).nth(index);

module.exports = { started, withPage: started.withPage, score, slider, tile, announced, redescribe };
