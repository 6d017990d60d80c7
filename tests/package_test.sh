#!/bin/sh
# Installs the build and uses it as others would: find_package, pkg-config, man page, completion.
# Usage: package_test.sh BUILD_DIR SOURCE_DIR
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" > /dev/null
cmake -S "$source/examples/cmake-consumer" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" > /dev/null
cmake --build "$work/consumer" > /dev/null
"$work/consumer/consumer" "$source/data/demo" | tee "$work/said"
grep -q '^with it: deer$' "$work/said"
libdir=$(dirname "$(find "$work/prefix" -name parsnets.pc)")
PKG_CONFIG_PATH=$libdir pkg-config --exists parsnets
test "$(PKG_CONFIG_PATH=$libdir pkg-config --modversion parsnets)" = "$("$work/prefix/bin/parsnets" --version | cut -d' ' -f2)"
test -s "$work/prefix/share/man/man1/parsnets.1"
cc -std=c99 -Wall -Wextra -Werror -c "$work/prefix/share/parsnets/runtime/parsnets_rt.c" -o "$work/runtime.o"
test -s "$work/prefix/share/bash-completion/completions/parsnets"
(cd "$work" && "$work/prefix/bin/parsnets" demo > said && test -s parsnets-demo/report.html)
"$source/tests/run_path_test.sh" "$work/prefix"
# An installed tool finds its modules.
if [ -f "$build/parsnets-backbones.so" ]; then
  "$work/prefix/bin/parsnets" doctor | grep -q '^photos *O'
fi
# It finds what reads MAT files, which is in a sandbox.
"$work/prefix/bin/parsnets" info "$source"/python/packaging/mat73/features.mat | grep -q features
"$work/prefix/bin/parsnets" doctor | grep -q '^sandbox *[st]'
echo "package test passed"
