#!/bin/sh
# The commands of docs/everywhere.md run as they stand there, and so does its example for Node.js.
# Usage: everywhere_guide_test.sh SOURCE_DIR PARSNETS; exit code 77: what it needs is not there
set -eu
if "$2" page --model none --out none.html 2>&1 | grep -q 'no playground'; then
  echo "SKIPPED: the page needs a build with libasio-dev"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/run_page.sh" "$1" "$2" docs/everywhere.md "$work"
cd "$work"
# One file: it names no other to load, and has the device file that export writes, and the samples.
if grep -E -q '<(script|link|img|iframe)[^>]* (src|href)="?([^"d]|d[^a])' out/page.html; then
  echo "out/page.html loads another file"
  exit 1
fi
grep -q -F "\"device\":\"$(base64 -w 0 out/model.pnrt)\"" out/page.html || { echo "out/page.html has another model"; exit 1; }
grep -q -F '"samples":[{' out/page.html || { echo "out/page.html has no samples"; exit 1; }
command -v node > /dev/null || exit 0
mkdir node_modules
ln -s "$1/npm" node_modules/parsnets
awk '/^```js$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$1/docs/everywhere.md" > example.mjs
node example.mjs > answer
grep -q '^11 classes$' answer || { cat answer; exit 1; }  # ten of the demo set, and one new
