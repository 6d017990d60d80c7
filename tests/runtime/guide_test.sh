#!/bin/sh
# The commands of docs/device.md run as they stand there. Usage: guide_test.sh SOURCE_DIR PARSNETS
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$(dirname "$0")/../run_page.sh" "$1" "$2" docs/device.md "$work"
cd "$work"
# A line for each sample; of samples of known classes, some are unknown, but not all.
[ "$(wc -l < out/classes.tsv)" = 2400 ]
unknown=$(cut -f 2 out/verdicts.tsv | grep -c '^unknown$')
if [ "$unknown" -lt 100 ] || [ "$unknown" -gt 1800 ]; then
  echo "$unknown of 2400 samples are unknown"
  exit 1
fi
# The stream moved both unseen classes, and what was learned is kept.
for class in deer truck; do grep -q "^$class.moved by" log || { cat log; exit 1; }; done
[ -s out/demo.bank ]
