#!/bin/sh
# The API reference as HTML in build/docs/api: C++, C and the device runtime from the headers, Python from its docstrings.
# Usage: api_docs.sh [headers]
#   headers   only what Doxygen makes of the headers; needs no build
# Exit 1 if a public name has no comment or a comment is malformed, 77 without Doxygen.
set -eu
cd "$(dirname "$0")/.."
mode=${1:-all}
case "$mode" in all | headers) ;; *) echo "usage: api_docs.sh [headers]" >&2; exit 2 ;; esac
if ! command -v doxygen > /dev/null; then
  echo "api_docs.sh: Doxygen is missing (scripts/setup.sh docs installs it)" >&2
  exit 77
fi

mkdir -p build/docs
doxygen docs/Doxyfile
[ "$mode" = headers ] || "${PARSNETS_PYTHON:-/usr/bin/python3}" scripts/python_reference.py build/docs/api/python/index.html
echo "build/docs/api/index.html"
