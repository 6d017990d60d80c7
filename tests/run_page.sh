#!/bin/sh
# Runs the commands of a page as they stand there: its blocks of `sh`, in a folder with links to the checkout.
# Usage: run_page.sh SOURCE_DIR PARSNETS docs/PAGE.md WORK_DIR; leaves WORK_DIR/out and WORK_DIR/log
set -eu
source=$1 page=$1/$3
mkdir -p "$4/bin" "$4/out"
ln -s "$2" "$4/bin/parsnets"
cd "$4"
unset PARSNETS_TOKEN http_proxy HTTP_PROXY all_proxy ALL_PROXY  # a page says what it needs
for folder in data examples runtime scripts; do ln -s "$source/$folder" "$folder"; done
awk '/^ *```sh$/ { inside = 1; next } /^ *```$/ { inside = 0 } inside' "$page" > commands
[ -s commands ] || { echo "$page has no commands"; exit 1; }
PATH=$PWD/bin:$PATH sh -eu commands > log 2>&1 || { cat log; exit 1; }
