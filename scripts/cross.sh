#!/bin/sh
# Builds for ARM with Debian's cross compilers and runs the results under QEMU's user emulation:
#   engine   library, command line tool and tests for 64-bit ARM (build-aarch64/)
#   runtime  runtime/, the C library for small devices, for 64-bit ARM and for 32-bit ARM without and with NEON
# Usage: cross.sh [engine|runtime]...  (both by default). PARSNETS_CROSS_ALL=1 runs the slow tests of the engine too;
# PARSNETS_CROSS_MODEL=FILE names the device file whose predictions are counted.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
jobs=${JOBS:-$(nproc)}
build=$root/build-aarch64
sysroot=$build/sysroot
summary=""

# Minutes each when emulated (a product takes some fifty times longer): tests that train on the real data sets or train
# many models, and those that repeat a thing very often.
slow='RealData\.|CliTrain\.RidgeOnCub|CliTrain\.Bench|Automatic\.I|Train\.AnInterruptedRun|Train\.ThePaperPreset'
slow="$slow|Svr\.ResultsAreBitwise|Svr\.ResumedSolve|Linalg\.ManyThreadsMultiply|CliData\.BadInputs"
slow="$slow|Encoder\.TheRandomizedFit|Encoder\.TheMethodIs|Encoder\.FitsAndEmbeddings|MatHostile\.FlippedBitsOfV73"
slow="$slow|CApiModel\.ClonesAndFiles|CApiTraining\.|CliReport\.|CliExport\.|CliBenchDevice\."

say() { printf '== %s\n' "$*"; }
done_with() { summary="$summary
  $*"; }
trap '[ $? = 0 ] || echo "== cross: FAILED in the step above" >&2' EXIT

# The libraries for 64-bit ARM are unpacked below build-aarch64/ and nowhere else: apt works on package lists of its own,
# with this machine's sources, so the packages of this machine and its list of architectures stay as they are.
arm64_apt() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Install-Recommends=false \
    -o APT::Sandbox::User="$(id -un)" -o Dir::State="$build/apt" -o Dir::State::status="$build/apt/status" \
    -o Dir::Cache="$build/apt" "$@"
}

fetch_sysroot() {
  packages="libhdf5-dev zlib1g-dev libzip-dev libfmt-dev libeigen3-dev nlohmann-json3-dev
            libcli11-dev libgtest-dev libsvm-dev"
  if [ "$(cat "$sysroot/packages" 2>/dev/null)" = "$packages" ]; then
    say "libraries for 64-bit ARM: in build-aarch64/sysroot already"
    return
  fi
  say "libraries for 64-bit ARM: downloading Debian's packages and unpacking them into build-aarch64/sysroot"
  rm -rf "$sysroot" "$build/apt"
  mkdir -p "$sysroot" "$build/apt/lists/partial" "$build/apt/archives/partial"
  : > "$build/apt/status"
  # shellcheck disable=SC2086
  { arm64_apt update && arm64_apt install -y --download-only $packages; } || {
    echo "The arm64 packages could not be fetched: is there a network, and do apt's sources offer arm64?" >&2
    return 1
  }
  for package in "$build"/apt/archives/*.deb; do dpkg -x "$package" "$sysroot"; done
  # Links to absolute paths would lead out of the sysroot.
  find "$sysroot" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
  done
  # What the packages' installation would have set with update-alternatives.
  libraries=$sysroot/usr/lib/aarch64-linux-gnu
  ln -s hdf5-serial.pc "$libraries/pkgconfig/hdf5.pc"
  rm -rf "$build/apt"
  echo "$packages" > "$sysroot/packages"
}

engine() {
  fetch_sysroot
  say "engine for 64-bit ARM: building in build-aarch64"
  cmake -S . -B "$build" -G Ninja --toolchain "$root/cmake/toolchains/aarch64.cmake" -DPARSNETS_SYSROOT="$sysroot" \
    -DCMAKE_BUILD_TYPE=Release -DPARSNETS_BUILD_TESTS=ON -DPARSNETS_BUILD_BENCH=OFF > /dev/null
  cmake --build "$build" -j "$jobs"
  done_with "engine, 64-bit ARM: built"

  say "engine for 64-bit ARM: the command line tool on the demo set, emulated"
  tool=$build/parsnets-emulated
  model=$build/demo/model.safetensors
  mkdir -p "$build/demo"
  "$tool" --version
  "$tool" info data/demo/features.npy
  "$tool" train --data data/demo --out "$model" --quiet
  "$tool" eval --model "$model" --data data/demo
  done_with "engine, 64-bit ARM: the tool trains and evaluates on data/demo"

  if [ "${PARSNETS_CROSS_ALL:-0}" = 1 ]; then
    say "engine for 64-bit ARM: all tests, emulated"
    ctest --test-dir "$build" --output-on-failure -j "$jobs"
    done_with "engine, 64-bit ARM: all tests passed"
  else
    left_out=$(ctest --test-dir "$build" -N -R "$slow" | sed -n 's/^ *Test *#[0-9]*: //p')
    say "engine for 64-bit ARM: tests, emulated; left out as slow (PARSNETS_CROSS_ALL=1 runs them):"
    echo "$left_out" | sed 's/^/   /'
    ctest --test-dir "$build" --output-on-failure -j "$jobs" -E "$slow"
    done_with "engine, 64-bit ARM: tests passed, $(echo "$left_out" | wc -l) slow ones left out"
  fi
}

# runtime_for NAME FOLDER TOOLCHAIN OPTIONS...
runtime_for() {
  name=$1 folder=$2 toolchain=$3
  shift 3
  say "runtime for $name: building in $folder"
  cmake -S runtime -B "$folder" -G Ninja --toolchain "$root/cmake/toolchains/$toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DPNRT_BUILD_TESTS=ON -DPNRT_BUILD_EXAMPLES=ON "$@" > /dev/null
  cmake --build "$folder" -j "$jobs"
  say "runtime for $name: tests, emulated"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs"
  done_with "runtime, $name: built, tests passed"
}

# The Cortex-A72 has no dot products, the Cortex-A76 has.
on() {
  cpu=$1
  shift
  qemu-aarch64 -cpu "$cpu" -L /usr/aarch64-linux-gnu "$@"
}

dot_products() {
  say "runtime for 64-bit ARM: the same build on a processor with dot products"
  on cortex-a76 build-aarch64-runtime/tests/products
  for model in golden golden_classes golden_rejection golden_source; do
    on cortex-a76 build-aarch64-runtime/tests/golden runtime/tests/$model.pnrt runtime/tests/$model.txt
  done
  done_with "runtime, 64-bit ARM with dot products: tests passed"
}

# Executed instructions of one prediction: what two need beyond one. Each instruction is a line of QEMU's log.
instructions() {
  model=${PARSNETS_CROSS_MODEL:-runtime/tests/golden.pnrt}
  say "runtime for 64-bit ARM: counting the instructions of one prediction of $model"
  executed() {
    on "$1" -singlestep -d nochain,exec -D /dev/stderr build-aarch64-runtime/tests/predictions "$model" "$2" \
      2>&1 > /dev/null | grep -c '^Trace'
  }
  for processor in cortex-a72 cortex-a76; do
    one=$(executed $processor 1) two=$(executed $processor 2)
    done_with "runtime, 64-bit ARM: one prediction of $model executes $((two - one)) instructions on a $processor"
  done
}

runtime() {
  runtime_for "64-bit ARM" build-aarch64-runtime aarch64 -DCMAKE_C_FLAGS=-mcpu=cortex-a72
  dot_products
  instructions
  runtime_for "32-bit ARM without NEON" build-armhf-runtime armhf
  runtime_for "32-bit ARM with NEON" build-armhf-neon-runtime armhf -DPARSNETS_NEON=ON
}

[ $# -gt 0 ] || set -- engine runtime
for part in "$@"; do
  case $part in
    engine) engine ;;
    runtime) runtime ;;
    *) echo "usage: cross.sh [engine|runtime]..." >&2; exit 2 ;;
  esac
done
say "cross: all steps passed$summary"
