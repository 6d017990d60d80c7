#!/bin/sh
# Lays the runtime out as an Arduino library: copy the folder to the `libraries` folder of the Arduino IDE.
# Usage: make.sh FOLDER     (made anew as FOLDER/ParsNets)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
library=$(cd "$1" && pwd)/ParsNets
rm -rf "$library"
mkdir -p "$library/src" "$library/examples/Classify"
cp "$here/library.properties" "$here/../../LICENSE" "$library"
cp "$here/../parsnets_rt.c" "$here/../parsnets_rt.h" "$library/src"
cp "$here/Classify.ino" "$here/../../examples/device/firmware_model.h" "$here/../../examples/device/firmware_samples.h" \
  "$library/examples/Classify"
echo "$library"
