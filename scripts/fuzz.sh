#!/bin/sh
# Readers on made-up bytes, all or those named, each for its share of the time. Usage: fuzz.sh PROGRAM SECONDS [READER...]
# A reader may take at most 10 s and, at a time, 256 MB for bytes of at most 64 kB; MAT files, whose values may be
# compressed, 1 GB for 8 kB. Exit 1 if something was found.
set -eu
program=$1 seconds=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
found=$(dirname "$program")
readers=${*:-$(ls "$root/fuzz/corpus")}
share=$((seconds / $(echo "$readers" | wc -w) + 1))
failed=0
for reader in $readers; do
  mkdir -p "$found/corpus/$reader"
  case $reader in
  mat | mat5 | answers) memory=1024 length=8192 ;;
  *) memory=256 length=65536 ;;
  esac
  if PARSNETS_FUZZ=$reader "$program" -max_total_time="$share" -timeout=10 -malloc_limit_mb="$memory" \
    -rss_limit_mb=2048 -max_len="$length" -dict="$root/fuzz/tokens.dict" -artifact_prefix="$found/$reader-" \
    -print_final_stats=1 "$found/corpus/$reader" "$root/fuzz/corpus/$reader" > "$found/$reader.log" 2>&1; then
    echo "$reader: $(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$reader.log") runs"
  else
    tail -20 "$found/$reader.log"
    echo "$reader: found, see $found/$reader.log"
    failed=1
  fi
done
exit "$failed"
