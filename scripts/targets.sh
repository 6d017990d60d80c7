#!/bin/sh
# The runtime on every kind of processor that can be had here: the CRC-32 of what a model answers, which must be that of
# plain C on this machine; .text of the runtime at -Os, working memory, and what a prediction takes. ARM with Linux is
# emulated by QEMU, and not timed. Usage: targets.sh [MODEL.pnrt]... (by default the 16 KB model of the firmware example,
# and where $PARSNETS_DATA has CUB its default model in 600 kB; build/parsnets makes that)
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 0 ]; then
  printf '#include <stdio.h>\n#include "firmware_model.h"\nint main(void) { return fwrite(firmware_model, 1, firmware_model_bytes, stdout) == 0; }\n' > "$work/write.c"
  gcc -std=c99 -Iexamples/device "$work/write.c" -o "$work/write"
  "$work/write" > "$work/firmware.pnrt"
  set -- "$work/firmware.pnrt"
  data=${PARSNETS_DATA:-../shared/data}/CUB
  if [ -d "$data" ]; then
    build/parsnets train --data "$data" --out "$work/cub.safetensors" --quiet > /dev/null
    build/parsnets export "$work/cub.safetensors" --data "$data" --max-bytes 600kB --out "$work/cub.pnrt" --quiet > /dev/null
    set -- "$@" "$work/cub.pnrt"
  fi
fi
models=$*
minimal="-DPNRT_NO_LEARN -DPNRT_NO_SAVE -DPNRT_NO_EXPLAIN -DPNRT_NO_REJECT -DPNRT_NO_FLOAT"
failed=0

reference() {  # model, flags
  model=$1
  shift
  gcc -std=gnu99 -O1 -ffp-contract=off -DPNRT_NO_SIMD -DLEARNING=0 "$@" -Iruntime runtime/tests/cortex_m.c runtime/parsnets_rt.c -o "$work/reference" -lm
  "$work/reference" "$model" | cut -d ' ' -f 2
}

tell() {  # target, switches, model, .text, what it says, reference
  equal=yes
  [ "$(echo "$5" | cut -d ' ' -f 2)" = "$6" ] || { equal="no: $6 in plain C"; failed=1; }
  echo "$1, $2, $(basename "$3"): .text $4, $5, CRC equal: $equal"
}

target() {  # name, prefix of the compiler, emulator, flags
  name=$1 prefix=$2 emulator=$3 flags=$4
  command -v "${prefix}gcc" > /dev/null || { echo "$name: not here: ${prefix}gcc"; return; }
  for model in $models; do
    for set in all minimal; do
      switches=""
      [ "$set" = all ] || switches=$minimal
      # shellcheck disable=SC2086
      "${prefix}gcc" -std=gnu99 -Os -ffp-contract=off $flags $switches -c runtime/parsnets_rt.c -o "$work/small.o"
      text=$("${prefix}size" -A "$work/small.o" | awk '/^\.text/ { sum += $2 } END { print sum }')
      # shellcheck disable=SC2086
      "${prefix}gcc" -std=gnu99 -O2 -ffp-contract=off $flags $switches -DLEARNING=0 -Iruntime runtime/tests/cortex_m.c \
        runtime/parsnets_rt.c -static -o "$work/program" -lm
      # shellcheck disable=SC2086
      if [ -z "$emulator" ]; then found=$("$work/program" "$model" timed)
      else found=$($emulator "$work/program" "$model"); fi
      # shellcheck disable=SC2086
      tell "$name" "$set" "$model" "$text" "$found" "$(reference "$model" $switches)"
    done
  done
}

target x86-64 "" "" ""
target aarch64 aarch64-linux-gnu- qemu-aarch64 ""
target armhf arm-linux-gnueabihf- qemu-arm "-mfpu=neon"
for wasm in parsnets.wasm:wasm32 parsnets-simd.wasm:"wasm32 SIMD128"; do
  file=npm/${wasm%%:*}
  command -v node > /dev/null || { echo "${wasm##*:}: not here: node"; continue; }
  for model in $models; do
    tell "${wasm##*:}" all "$model" "$(wc -c < "$file")" "$(node npm/test/target.js "$file" "$model")" "$(reference "$model")"
  done
done
# shellcheck disable=SC2086
scripts/microcontroller.sh $models || failed=1
exit $failed
