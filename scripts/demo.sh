#!/bin/sh
# The main job on the embedded demo set. Needs build/parsnets (make build).
set -eu
cd "$(dirname "$0")/.."

step() { printf '\n$ %s\n' "$*"; "$@"; }

step build/parsnets data inspect data/demo
