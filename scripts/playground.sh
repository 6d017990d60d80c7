#!/bin/sh
# Serves the playground on the demo set. Needs build/parsnets (make build). What is there is not made again.
#   BACKBONE=FILE.onnx   backbone that reads photographs, so that photos can be dropped on the page (default: the
#                        resnet50.onnx of `parsnets backbone get resnet50`, if it is there)
#   PORT=8080
set -eu
cd "$(dirname "$0")/.."
backbone=${BACKBONE:-}
cached=${XDG_CACHE_HOME:-$HOME/.cache}/parsnets/backbones/resnet50.onnx
[ -n "$backbone" ] || [ ! -f "$cached" ] || backbone=$cached
mkdir -p out/playground

# Trains and calibrates MODEL on DATA, unless it exists.
train() {
  [ -f "$1" ] && return
  build/parsnets train --data "$2" --out out/playground/uncalibrated.safetensors --quiet
  build/parsnets calibrate --model out/playground/uncalibrated.safetensors --data "$2" --false-accept 5% --out "$1" --quiet
  rm out/playground/uncalibrated.safetensors
}

if [ -n "$backbone" ]; then
  [ -f "$backbone" ] || { echo "$backbone: no such file; expected a network (BACKBONE)" >&2; exit 3; }
  # Another network of the same name, or another card, has other features.
  sum=$(cat "$backbone" "${backbone%.onnx}.json" 2> /dev/null | sha256sum | cut -c 1-8)
  data=out/playground/$(basename "$backbone" .onnx)-$sum
  model=$data.safetensors
  if [ ! -f "$data/features.npy" ]; then
    [ -d out/playground/photos ] || { scripts/demo_photos.py --out out/playground/new && mv out/playground/new out/playground/photos; }
    echo "Extracting features of the demo set's photographs into $data; this happens once, and resumes after Ctrl-C."
    build/parsnets extract --images out/playground/photos --backbone "$backbone" --attributes data/demo/attributes.csv --out "$data" > /dev/null
  fi
  cp data/demo/split.json data/demo/thumbnails.jpg "$data"
  train "$model" "$data"
  set -- --backbone "$backbone"
else
  data=data/demo
  model=out/playground/demo.safetensors
  train "$model" "$data"
  echo "To drop photos on the page: build/parsnets backbone get resnet50 (95 MB), then run make playground again."
fi
echo "Open the address below in a browser. Ctrl-C ends the server; make playground PORT=8081 uses another port."
exec build/parsnets serve --model "$model" --data "$data" --port "${PORT:-8080}" "$@"
