#!/bin/sh
# What `make demo` prints is a story of at most 40 lines, and the files that it names are there. Usage: demo_test.sh ROOT
set -eu
cd "$1"
[ -x build/parsnets ] || { echo "skipped: scripts/demo.sh runs build/parsnets, which is not built"; exit 77; }
rm -f out/demo/report.html out/demo/page.html out/demo/model.pnrt
told=$(scripts/demo.sh)
lines=$(printf '%s\n' "$told" | wc -l)
[ "$lines" -le 40 ] || { echo "expected at most 40 lines, found $lines"; exit 1; }
for file in out/demo/report.html out/demo/page.html out/demo/model.pnrt; do
  case $told in *"$file"*) ;; *) echo "expected a line that names $file"; exit 1 ;; esac
  [ -s "$file" ] || { echo "expected $file to be written"; exit 1; }
done
case $told in *"photographs of trucks are found"*) ;; *) echo "expected how many trucks are found"; exit 1 ;; esac
