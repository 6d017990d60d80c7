#!/bin/sh
# Makes the tarball, installs it in an empty folder, runs the example of its README there, and checks its types.
# Usage: check.sh FOLDER     (the tarball goes there)
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$root/npm" && npm pack --silent --pack-destination "$out")
tarball=$(find "$out" -name 'parsnets-*.tgz' -newer "$root/npm/package.json" | sort | tail -n 1)
cd "$work"
printf '{"type": "module", "private": true}\n' > package.json
npm install --silent --no-audit --no-fund --offline "$tarball"
cp "$root/examples/device/demo_classes.pnrt" model.pnrt
awk '/^```js$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$root/npm/README.md" > example.js
node example.js | tee answer
grep -q 'one of them new: true' answer
if [ -x "$root/tests/web/node_modules/.bin/tsc" ]; then
  cat > use.ts <<'TS'
import { load, ParsNetsError, type Classification } from "parsnets";
const model = await load(new Uint8Array(8));
const answer: Classification = model.classify(new Float32Array(model.features), { top: 3, among: "unseen", reject: true });
const first: string | undefined = answer.matches[0]?.name;
const index: number = model.addClass("okapi", [1, 2, 3]);
model.adapt([new Float32Array(2), [1, 2]]);
const saved: Uint8Array = model.save();
// @ts-expect-error: classes compete among all, seen or unseen
model.classify([1], { among: "some" });
// @ts-expect-error: a model comes from load
new (await import("parsnets")).Model();
export { first, index, saved, ParsNetsError };
TS
  "$root/tests/web/node_modules/.bin/tsc" --strict --noEmit --target es2022 --module nodenext --moduleResolution nodenext use.ts
  echo "types: ok"
fi
echo "$tarball: $(wc -c < "$tarball") bytes"
