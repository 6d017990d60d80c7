#!/bin/sh
# What the tool is for, on the embedded demo set, in at most 40 lines. Needs build/parsnets (make build).
set -eu
cd "$(dirname "$0")/.."
mkdir -p out/demo
model=out/demo/model.safetensors

step() { printf '\n$ %s\n' "$*"; "$@"; }

attributes=$(head -n 1 data/demo/attributes.csv | tr -cd , | wc -c)
echo "Eight classes of photographs are learned. Ten are described by $attributes attributes, such as 'has_wings' and 'on_road'."
step build/parsnets train data/demo --run out/demo --quiet
step build/parsnets eval $model data/demo > out/demo/eval.txt
sed -n '1,/^GZSL/p' out/demo/eval.txt

echo
echo "A class is added from its description alone: a model that does not know trucks gets one row of the table."
build/parsnets classes remove $model --classes truck -o out/demo/no-truck.safetensors > /dev/null
grep -E '^(class|truck),' data/demo/attributes.csv > out/demo/truck.csv
step build/parsnets classes add out/demo/no-truck.safetensors --attributes out/demo/truck.csv -o out/demo/truck.safetensors
build/parsnets eval out/demo/truck.safetensors data/demo --per-class |
  sed -n 's/^gzsl_unseen *\([0-9.]*\) *truck (\(.*\) samples.*/\1 % of \2 photographs of trucks are found, among ten classes./p'

echo
echo "Why is sample 2200, a truck, called what it is called?"
step build/parsnets explain out/demo/truck.safetensors data/demo/features.npy --row 2200 --top 3

echo
echo "For a device: one file, which two C files run (runtime/)."
step build/parsnets export $model -o out/demo/model.pnrt --data data/demo --max-drop 1 --quiet

build/parsnets report --run out/demo --out out/demo/report.html --quiet > /dev/null
echo
build/parsnets page $model --data data/demo -o out/demo/page.html --quiet > /dev/null
echo "Open out/demo/report.html: the figures, with the photographs. Open out/demo/page.html: define a class yourself."
echo "Tables of accuracy: make reproduce. Own photographs: docs/photos.md."
