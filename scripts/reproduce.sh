#!/bin/sh
# `parsnets reproduce` on the demo set and on the data sets of $PARSNETS_DATA (or ../shared/data), results in
# out/reproduction. Arguments are options of the command. Needs build/parsnets (make build).
set -eu
cd "$(dirname "$0")/.."
data=${PARSNETS_DATA:-../shared/data}
root=out/reproduce-root

# Only links are made anew: a user may have put files of a public data set where the command names them.
mkdir -p "$root"
for link in "$root"/*; do
  [ ! -L "$link" ] || rm "$link"
done
ln -s "$PWD/data/demo" "$root/demo"
if [ -d "$data" ]; then
  data=$(cd "$data" && pwd)
  for folder in "$data"/*/; do
    name=$(basename "$folder")
    [ ! -d "$folder" ] || [ -e "$root/$name" ] || ln -s "$data/$name" "$root/$name"
  done
elif [ -n "${PARSNETS_DATA:-}" ]; then
  echo "reproduce.sh: PARSNETS_DATA: expected a folder of data sets, found no folder $data" >&2
  exit 3
else
  echo "The demo set alone: PARSNETS_DATA=DIR adds the data sets of a folder."
fi
exec build/parsnets reproduce --root "$root" --out out/reproduction "$@"
