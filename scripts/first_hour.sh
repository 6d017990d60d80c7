#!/bin/sh
# The four commands of docs/photos.md on 20 classes of photographs, four of them only described, as on a machine where
# nothing but the tool is installed: an empty home folder and no variables. Prints what is typed, what is answered and
# the seconds. Usage: first_hour.sh PHOTOS [BACKBONES]
#   PHOTOS     folder of photographs with the classes of examples/photos/classes.csv
#   BACKBONES  folder with mobilenet.onnx and mobilenet.json; without it the first command fetches them
set -eu
cd "$(dirname "$0")/.."
photos=${1:?first_hour.sh: expected the folder of photographs}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
cmake --install build --prefix "$work/usr" > "$work/install.log"
mkdir -p "$work/home/photos" "$work/home/new-photos"
table=examples/photos/classes.csv
head -n 1 "$table" > "$work/home/classes.csv"
# Every fourth class, and of these every fifth is only described. Of the others every sixth photograph is new.
tail -n +2 "$table" | sort | awk 'NR % 4 == 1' >> "$work/home/classes.csv"
number=0
for class in $(tail -n +2 "$work/home/classes.csv" | cut -d, -f1); do
  number=$((number + 1))
  place=0
  for file in "$photos/$class"/*; do
    place=$((place + 1))
    if [ $((number % 5)) = 0 ] || [ $((place % 6)) = 0 ]; then
      cp "$file" "$work/home/new-photos/$class-$(basename "$file")"
    else
      mkdir -p "$work/home/photos/$class"
      cp "$file" "$work/home/photos/$class"
    fi
  done
done
if [ -n "${2:-}" ]; then
  mkdir -p "$work/home/.cache/parsnets/backbones"
  cp "$2"/mobilenet.onnx "$2"/mobilenet.json "$work/home/.cache/parsnets/backbones"
fi

alone() (
  cd "$work/home"
  exec env -i HOME="$work/home" PATH="$work/usr/bin:/usr/bin:/bin" LANG=C.UTF-8 "$@"
)
step() {
  printf '\n$ %s\n' "$*"
  began=$(date +%s.%N)
  alone "$@" 2>&1 | sed "s|$work/home|~|g" | head -n "${lines:-40}"
  awk -v from="$began" -v to="$(date +%s.%N)" 'BEGIN { printf "(%.1f s)\n", to - from }'
}

echo "$(find "$work/home/photos" -type f | wc -l) photographs of $(find "$work/home/photos" -mindepth 1 -type d | wc -l) classes," \
  "$(find "$work/home/new-photos" -type f | wc -l) new ones of $(tail -n +2 "$work/home/classes.csv" | wc -l);" \
  "classes.csv describes all of them by $(head -n 1 "$work/home/classes.csv" | tr ',' '\n' | tail -n +2 | wc -l) attributes"
step parsnets train photos/ --classes classes.csv -o birds.safetensors
lines=8 step parsnets predict birds.safetensors new-photos/ --table
alone parsnets predict birds.safetensors new-photos/ --top 1 --quiet > "$work/found.csv"
described=$(tail -n +2 "$work/home/classes.csv" | awk -F, 'NR % 5 == 0 { printf "%s ", $1 }')
awk -F, -v described="$described" '
  BEGIN { split(described, names, " "); for (i in names) only_described[names[i]] = 1 }
  NR > 1 {
    class = $2; sub(/-[^-]*$/, "", class)
    kind = class in only_described ? "only described" : "photographed"
    all[kind]++; right[kind] += class == $4
  }
  END { for (kind in all) printf "of %d new photographs of %s classes, %.0f %% get their class\n", all[kind], kind,
                                 100 * right[kind] / all[kind] }' "$work/found.csv" | sort

printf '\n$ parsnets serve birds.safetensors\n'
: > "$work/served"
alone parsnets serve birds.safetensors --port 0 > "$work/served" 2>&1 &
server=$!
until grep -q http "$work/served"; do sleep 0.1; done
sed "s|$work/home|~|g" "$work/served"
address=$(grep -o 'http://[^ ]*' "$work/served")
curl -s "$address/" | grep -o '<title>.*</title>'
kill "$server"
wait "$server" 2> /dev/null || true
server=

step parsnets export birds.safetensors -o birds.pnrt
