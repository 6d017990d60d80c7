#!/bin/sh
# Every combination of the PNRT_NO_... switches compiles without warnings; each one alone and all of them
# together give the golden outputs. Usage: switches.sh COMPILER FOLDER_OF_THE_RUNTIME
set -eu
compiler=$1 runtime=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
switches="LEARN SAVE EXPLAIN REJECT FLOAT SIMD"

compiled=0
for mask in $(seq 0 63); do
  flags="" bit=1
  for switch in $switches; do
    [ $((mask / bit % 2)) = 0 ] || flags="$flags -DPNRT_NO_$switch"
    bit=$((bit * 2))
  done
  # shellcheck disable=SC2086
  "$compiler" -std=c99 -Wall -Wextra -Werror -fsyntax-only $flags "$runtime/parsnets_rt.c" ||
    { echo "with$flags"; exit 1; }
  compiled=$((compiled + 1))
done

ran=0
check() {  # models, then switches that are defined
  models=$1 flags=""
  shift
  for switch in "$@"; do flags="$flags -DPNRT_NO_$switch"; done
  # shellcheck disable=SC2086
  "$compiler" -std=c99 -O1 -ffp-contract=off -Wall -Wextra -Werror -Wno-unused-function $flags -I"$runtime" "$runtime/tests/golden.c" \
    "$runtime/parsnets_rt.c" -o "$work/golden" -lm
  for model in $models; do
    "$work/golden" "$runtime/tests/$model.pnrt" "$runtime/tests/$model.txt" > "$work/out" 2>&1 ||
      { echo "with$flags:"; cat "$work/out"; exit 1; }
    ran=$((ran + 1))
  done
}
# The other golden models have rejection, and their outputs its verdicts.
# shellcheck disable=SC2086
check "golden golden_classes" $switches
for one in $switches; do check golden_classes "$one"; done
echo "$compiled combinations compile, $ran runs give the golden outputs"
