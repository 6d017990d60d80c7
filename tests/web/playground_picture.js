// The playground of a default model, as docs/gallery shows it: deer, described with sliders. Usage: node
// playground_picture.js FILE.jpg
"use strict";

const path = require("node:path");
const { launch } = require("./pages.js");
const { DEMO, folder, parsnets, serve, openPlayground, redescribe } = require("./playground.js");

(async () => {
  const model = path.join(folder, "demo.safetensors");
  parsnets("train", "--data", DEMO, "--out", model, "--quiet");
  const server = await serve(["--model", model, "--data", DEMO, "--port", "0"]);
  const browser = await launch();
  const { page } = await openPlayground(browser, server.url, { viewport: { width: 1280, height: 720 } });
  await redescribe(page, "deer", "horse", { antlers: 80, mane: 0, farm: 0, wild: 100, "in forest": 90 });
  await page.locator(".sliders").evaluate((list) => list.scrollTo(0, 240));
  await page.screenshot({ path: process.argv[2], quality: 82, type: "jpeg" });
  await browser.close();
  await server.stop();
})();
