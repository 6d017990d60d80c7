#!/bin/sh
# The unit of systemd: its command runs, with the configuration of docs/serve.md, and systemd finds no mistake and little
# that is exposed. Usage: service_test.sh UNIT PARSNETS SOURCE_DIR
set -eu
unit=$1 parsnets=$2 source=$3
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$work"' EXIT

"$parsnets" train --data "$source/data/demo" --out "$work/model.safetensors" --quiet > /dev/null
mkdir "$work/etc"
printf '0123456789abcdef\n' > "$work/etc/token"
# As on the page, but for the place of the model and the port.
# shellcheck disable=SC2016 # a mark of Markdown
sed -n '/^```ini$/,/^```$/p' "$source/docs/serve.md" | grep -v '```' |
  sed "s|^model = .*|model = $work/model.safetensors|; s|^port = .*|port = 0|" > "$work/etc/serve.conf"
grep -q '^host' "$work/etc/serve.conf"
command=$(sed -n 's|^ExecStart=[^ ]*/parsnets ||p' "$unit" | sed "s|/etc/parsnets|$work/etc|g; s|%d|$work/etc|g")
mkfifo "$work/said"
# shellcheck disable=SC2086 # the words of the command
"$parsnets" $command > "$work/said" 2> "$work/errors" &
server=$!
read -r line < "$work/said" || { cat "$work/errors" >&2; exit 1; }
case "$line" in serving*http://127.0.0.1:*) ;; *) echo "service_test.sh: it says '$line'" >&2; exit 1 ;; esac
kill "$server"
wait "$server"
server=

if ! command -v systemd-analyze > /dev/null; then
  echo "SKIPPED: systemd-analyze is missing, so the unit was not checked; install systemd"
  exit 77
fi
sed "s|^ExecStart=[^ ]*|ExecStart=$parsnets|" "$unit" > "$work/parsnets-serve.service"
found=$(systemd-analyze verify --man=no "$work/parsnets-serve.service" 2>&1) || { echo "$found" >&2; exit 1; }
[ -z "$found" ] || { echo "$found" >&2; exit 1; }
found=$(systemd-analyze security --offline=true --no-pager --threshold=15 "$work/parsnets-serve.service") || {
  echo "$found" >&2
  exit 1
}
echo "$found" | tail -n 1
