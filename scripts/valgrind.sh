#!/bin/sh
# The C runtime under valgrind: every function that golden.c calls, with models of each kind, on memory of exactly the
# size it asks for. Exit 1 for a read of what was never written, beyond a block, or for memory that is not given back.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for optimised in 1 3; do
  cc -std=c99 -g "-O$optimised" -ffp-contract=off -Iruntime runtime/tests/golden.c runtime/parsnets_rt.c -lm -o "$folder/golden"
  for model in golden golden_classes golden_rejection golden_source; do
    valgrind --quiet --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=all \
      "$folder/golden" "runtime/tests/$model.pnrt" "runtime/tests/$model.txt" 50 > /dev/null
    echo "valgrind: $model at -O$optimised is clean"
  done
done
