#!/bin/sh
# scripts/playground.sh with a network, twice: the second time as an interrupt during training leaves its folder.
#   playground_test.sh SOURCE PARSNETS
# Exit code 77: the build reads no photographs, or Python's NumPy or Pillow is not installed.
set -eu
source=$1 parsnets=$2
python=${PARSNETS_PYTHON:-/usr/bin/python3}
"$python" -c 'import numpy, PIL' 2> /dev/null || { echo "NOT TESTED: install python3-numpy and python3-pil"; exit 77; }
[ -f "$(dirname "$parsnets")/parsnets-backbones.so" ] || { echo "NOT TESTED: this build reads no photographs"; exit 77; }
work=$(mktemp -d)
pid=
finish() {
  [ -z "$pid" ] || kill "$pid" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT
mkdir "$work/build" "$work/scripts"
ln -s "$parsnets" "$work/build/parsnets"
ln -s "$source/data" "$work/data"
cp "$source"/scripts/*.py "$source/scripts/playground.sh" "$work/scripts"
"$python" "$source/scripts/tiny_backbone.py" --out "$work/tiny.onnx" > /dev/null

# Ends once the page is served.
serve() {
  rm -f "$work/said"
  mkfifo "$work/said"
  BACKBONE=$work/tiny.onnx PORT=0 "$work/scripts/playground.sh" > "$work/said" 2>&1 &
  pid=$!
  sed '/http:/q' "$work/said" > "$work/log"
  grep -q http: "$work/log" || { cat "$work/log"; echo "it ended before it served the page"; exit 1; }
  kill "$pid"
  wait "$pid" || true
  pid=
}

serve
model=$(ls "$work"/out/playground/tiny-*.safetensors)
features=${model%.safetensors}/features.npy
before=$(stat -c %i "$features")
rm "$model"
serve
[ -f "$model" ] || { echo "expected $model"; exit 1; }
[ "$before" = "$(stat -c %i "$features")" ] || { echo "expected the features of the first run"; exit 1; }
