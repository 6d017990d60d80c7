#!/bin/sh
# Makes the release of HEAD twice, from two clones in folders of different names, and compares every byte.
# Usage: reproducible.sh [FOLDER], build-reproducible by default. $FIRST: a release that was made already, of the same HEAD.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build-reproducible}
rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
make_release() {
  git clone -q --no-hardlinks . "$folder/$1"
  (cd "$folder/$1" && scripts/release.sh "$folder/$2" > "$folder/$2.log") || { tail -n 20 "$folder/$2.log"; exit 1; }
}
if [ -n "${FIRST:-}" ]; then
  cp -R "$FIRST" "$folder/first"
else
  make_release one first
fi
make_release another/folder/of/the/machine second
cat "$folder/second/SHA256SUMS"
if diff "$folder/first/SHA256SUMS" "$folder/second/SHA256SUMS"; then
  echo "both releases are the same: $(wc -l < "$folder/second/SHA256SUMS") files"
else
  echo "the releases differ; both are in $folder" >&2
  exit 1
fi
