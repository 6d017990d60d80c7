#!/bin/sh
# What the tool is for, on the embedded demo set, in at most 40 lines: demo.sh [TOOL DATA OUT]. Without arguments, the
# tool of `make build` in the source tree; `parsnets demo` gives all three.
set -eu
if [ $# = 0 ]; then
  cd "$(dirname "$0")/.."
  tool=build/parsnets shown=build/parsnets data=data/demo out=out/demo
  more="Tables of accuracy: make reproduce. Own photographs: docs/photos.md."
else
  tool=$1 shown=parsnets data=$2 out=$3
  more="Own data: parsnets train --help. Own photographs: parsnets train FOLDER --classes TABLE."
fi
mkdir -p "$out"
model=$out/model.safetensors

step() { printf '\n$ %s %s\n' "$shown" "$*"; "$tool" "$@"; }

attributes=$(head -n 1 "$data/attributes.csv" | tr -cd , | wc -c)
echo "Eight classes of photographs are learned. Ten are described by $attributes attributes, such as 'has_wings' and 'on_road'."
step train "$data" --run "$out" --quiet
step eval "$model" "$data" > "$out/eval.txt"
sed -n '1,/^GZSL/p' "$out/eval.txt"

echo
echo "A class is added from its description alone: a model that does not know trucks gets one row of the table."
"$tool" classes remove "$model" --classes truck -o "$out/no-truck.safetensors" > /dev/null
grep -E '^(class|truck),' "$data/attributes.csv" > "$out/truck.csv"
step classes add "$out/no-truck.safetensors" --attributes "$out/truck.csv" -o "$out/truck.safetensors"
"$tool" eval "$out/truck.safetensors" "$data" --per-class |
  sed -n 's/^gzsl_unseen *\([0-9.]*\) *truck (\(.*\) samples.*/\1 % of \2 photographs of trucks are found, among ten classes./p'

echo
echo "Why is sample 2200, a truck, called what it is called?"
step explain "$out/truck.safetensors" "$data/features.npy" --row 2200 --top 3

echo
echo "For a device: one file, which two C files run (runtime/)."
step export "$model" -o "$out/model.pnrt" --data "$data" --max-drop 1 --quiet

"$tool" report --run "$out" --out "$out/report.html" --quiet > /dev/null
echo
"$tool" page "$model" --data "$data" -o "$out/page.html" --quiet > /dev/null
echo "Open $out/report.html: the figures, with the photographs. Open $out/page.html: define a class yourself."
echo "$more"
