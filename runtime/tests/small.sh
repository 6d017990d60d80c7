#!/bin/sh
# The runtime compiles alone without warnings, has at most 28 KB of .text at -Os, and needs no library but sqrtf.
# Usage: small.sh COMPILER parsnets_rt.c
set -eu
compiler=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c99 -Wall -Wextra -Werror -c "$source" -o "$work/plain.o"
"$compiler" -std=c99 -Wall -Wextra -Werror -pedantic -DPNRT_NO_SIMD -c "$source" -o "$work/scalar.o"
"$compiler" -std=c99 -Os -c "$source" -o "$work/small.o"
# Another compiler, where there is one: its warnings and builtins differ.
case $compiler in */cc | */gcc | cc | gcc)
  if command -v clang > /dev/null; then clang -std=c99 -Wall -Wextra -Werror -c "$source" -o "$work/clang.o"; fi ;;
esac
prefix=${compiler%gcc}
[ "$prefix" != "$compiler" ] || prefix=""
section() { "${prefix}size" -A "$work/small.o" | awk -v name="^\\.$1" '$1 ~ name { sum += $2 } END { print sum + 0 }'; }
text=$(section text)
[ "$text" -le 28672 ] || { echo "$text bytes of .text at -Os, more than 28 KB"; exit 1; }
# What the compiler itself calls for (memory, the processor's model, C's arithmetic helpers) is there on every target;
# getauxval, which tells of the processor, is there on Linux.
needed=$("${prefix}nm" -u "$work/small.o" | awk '{ print $2 }' |
  grep -Ev '^(sqrtf|getauxval|mem(cpy|set|move|cmp)|__cpu_.*|__aeabi_.*|_GLOBAL_OFFSET_TABLE_|__stack_chk_.*)$' || true)
[ -z "$needed" ] || { echo "needs more than sqrtf: $needed"; exit 1; }
echo "$("$compiler" -dumpmachine), $("$compiler" --version | head -n 1): $text bytes of code (.text) at -Os and" \
  "$(section rodata) of constants (.rodata)"
