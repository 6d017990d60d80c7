#!/bin/sh
# clang takes what uses the ranges of GCC's library, some of which it cannot compile. `make test-clang` builds all files.
# Usage: clang_test.sh SOURCE_FOLDER BUILD_FOLDER; 77 without clang.
set -eu
cd "$1"
command -v clang++ > /dev/null || { echo "skipped: no clang++; \`scripts/setup.sh clang\` installs it"; exit 77; }
for file in src/data/find_datasets.cpp src/experiments/reproduce.cpp; do
  clang++ -std=c++20 -fsyntax-only -Iinclude -Isrc -I"$2/generated" "$file"
done
# The others by their text: these algorithms return a subrange, which clang 14 refuses.
! grep -nE 'std::ranges::(stable_partition|partition|rotate|unique|remove|remove_if|search|find_end|equal_range)\(' \
  -r src cli include backbones mpi
