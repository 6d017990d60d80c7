#!/bin/sh
# The main job on the embedded demo set. Needs build/parsnets (make build).
set -eu
cd "$(dirname "$0")/.."
mkdir -p out/demo
model=out/demo/model.safetensors

step() { printf '\n$ %s\n' "$*"; "$@"; }

echo "ParsNets demo: learn from eight classes of photographs, recognise two that were never seen."
step build/parsnets data inspect data/demo
step build/parsnets train --data data/demo --run out/demo --quiet
step build/parsnets eval --model $model --data data/demo --per-class
echo "Among all ten classes the seen ones give up gamma, one number for all of them, chosen where H is best on validation"
echo "classes. A seen class whose description is close to that of an unseen class may lose most of its samples to it."

echo
echo "A class can be added at run time from its description alone: take 'truck' out and put it back in."
step build/parsnets classes remove --model $model --classes truck --out out/demo/without-truck.safetensors
step build/parsnets classes add --model out/demo/without-truck.safetensors --attributes data/demo/attributes.csv --classes truck --out out/demo/with-truck.safetensors
step build/parsnets eval --model out/demo/with-truck.safetensors --data data/demo

echo
echo "Why is sample 2200, a truck, called what it is called?"
step build/parsnets explain --model $model --input data/demo/features.npy --row 2200

echo
echo "Not every sample is of a class that the model has. Calibration holds classes out in turn, and learns to say 'unknown'."
step build/parsnets calibrate --model $model --data data/demo --false-accept 5% --quiet
step build/parsnets eval --model $model --data data/demo --unknown-classes halves

echo
echo "For a device: the same model as a file that two C files run (runtime/). What that costs is measured on validation classes."
step build/parsnets export --model $model --data data/demo --out out/demo/model.pnrt --max-drop 1 --quiet
step build/parsnets eval --model out/demo/model.pnrt --data data/demo

echo
step build/parsnets report --run out/demo --out out/demo/report.html --quiet

echo
echo "The report, with the photographs, is out/demo/report.html: open it in a browser."
