#!/bin/sh
# The runtime builds on its own, as `cmake -S runtime`, and its tests and examples pass. Usage: standalone_test.sh SOURCE_DIR
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$1/runtime" -B "$work" -DPNRT_BUILD_TESTS=ON -DPNRT_BUILD_EXAMPLES=ON > /dev/null
cmake --build "$work" > /dev/null
ctest --test-dir "$work" --output-on-failure
