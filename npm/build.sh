#!/bin/sh
# Builds parsnets.wasm and parsnets-simd.wasm from the runtime with clang and lld, which Debian packages.
# sources.sha256 says what of. Usage: build.sh [FOLDER]     (this folder by default)
set -eu
cd "$(dirname "$0")"
out=${1:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() {  # file, flags
  file=$1
  shift
  for source in wasm.c ../runtime/parsnets_rt.c; do
    clang-14 --target=wasm32 -std=c99 -Os -ffreestanding -fno-math-errno -ffp-contract=off -Wall -Wextra -Werror "$@" \
      -Iinclude -I../runtime -c "$source" -o "$work/$(basename "$source" .c).o"
  done
  wasm-ld-14 --no-entry --strip-all -z stack-size=65536 "$work/wasm.o" "$work/parsnets_rt.o" -o "$out/$file"
}
build parsnets.wasm
build parsnets-simd.wasm -msimd128
sha256sum wasm.c include/math.h ../runtime/parsnets_rt.c ../runtime/parsnets_rt.h > "$out/sources.sha256"
