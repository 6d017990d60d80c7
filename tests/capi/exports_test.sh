#!/bin/sh
# The dynamic symbols of the shared library are the functions of the header, each of them and nothing else.
# Usage: exports_test.sh NM LIBRARY HEADER
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -D --defined-only "$2" | awk '{print $NF}' | sort > "$work/exported"
tr '\n' ' ' < "$3" | grep -o 'PARSNETS_API [^;(]*(' | grep -o 'parsnets_[a-z0-9_]*($' | tr -d '(' | sort > "$work/declared"
test "$(wc -l < "$work/declared")" -ge 30
diff "$work/declared" "$work/exported"
