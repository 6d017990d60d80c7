#!/bin/sh
# Runs the benchmarks on the real data in $PARSNETS_DATA (or ../shared/data).
set -eu
cd "$(dirname "$0")/.."
data=${PARSNETS_DATA:-../shared/data}
[ -d "$data/CUB" ] || { echo "REAL DATA NOT FOUND: set PARSNETS_DATA to a folder with CUB" >&2; exit 3; }
build/bench_load "$data/CUB/res50.mat"
echo
build/bench_class_space
echo
build/bench_svr_vs_liblinear --data "$data/CUB" --features res50 --c 0.001,0.01,0.1
echo
build/bench_field "$data/CUB" att 3 res50
echo
build/bench_predict bounds 1
build/bench_predict bounds 2
echo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/parsnets train --data "$data/CUB" --features res50 --out "$work/cub.safetensors" --quiet
build/parsnets export --model "$work/cub.safetensors" --data "$data/CUB" --features res50 --max-bytes 1.5MB --out "$work/cub.pnrt" --quiet
build/parsnets export --model "$work/cub.safetensors" --precision float32 --out "$work/cub32.pnrt" --quiet > /dev/null
build/parsnets bench-device --model "$work/cub32.pnrt,$work/cub.pnrt" --quiet
build/parsnets data convert "$data/CUB" "$work/plain" --features res50 --format npy --quiet > /dev/null
scripts/bench_device.py "$work/cub.safetensors" "$work/plain/features.npy"
echo
/usr/bin/python3 python/benchmarks/predict_overhead.py --model "$work/cub.safetensors" --features "$work/plain/features.npy"
