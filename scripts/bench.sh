#!/bin/sh
# Runs the benchmarks on the real data in $PARSNETS_DATA (or ../shared/data).
set -eu
cd "$(dirname "$0")/.."
data=${PARSNETS_DATA:-../shared/data}
[ -d "$data/CUB" ] || { echo "REAL DATA NOT FOUND: set PARSNETS_DATA to a folder with CUB" >&2; exit 3; }
build/bench_load "$data/CUB/res50.mat"
echo
build/bench_svr_vs_liblinear --data "$data/CUB" --features res50 --c 0.001,0.01,0.1
