#!/bin/sh
# The commands of docs/photos.md run as they stand there, and what they write makes sense.
# Usage: photos_guide_test.sh SOURCE_DIR PARSNETS; exit code 77: what it needs is not there
set -eu
if ! "$2" doctor | grep -q '^photos.*OpenCV' || ! /usr/bin/python3 -c 'import numpy, PIL'; then
  echo "SKIPPED: the page needs a build that reads photographs, python3-numpy and python3-pil"
  exit 77
fi
work=$(mktemp -d)
export XDG_CACHE_HOME="$work/cache"
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/run_page.sh" "$1" "$2" docs/photos.md "$work"
cd "$work"
# Of 240 photographs of trucks, most are recognised: a tenth would be chance.
trucks=$(cut -d, -f4 out/new.csv | grep -c '^truck$')
if [ "$trucks" -lt 100 ] || [ "$(wc -l < out/new.csv)" != 241 ]; then
  echo "$trucks of 240 photographs are recognised as trucks"
  exit 1
fi
grep -q '^out/new/truck/2200.png: truck' log || { cat log; exit 1; }
# The device says the same of nearly all of them: int8 rounds.
cut -f2 out/new.tsv > device
tail -n +2 out/new.csv | cut -d, -f4 > here
differing=$(diff device here | grep -c '^<' || true)
[ "$differing" -le 5 ] || { echo "the device differs on $differing of 240 photographs"; exit 1; }
# The record of what made the features is in the data set.
grep -q '"backbone": "tiny.onnx"' out/data/extraction.json
