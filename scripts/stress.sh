#!/bin/sh
# Runs the tests of build/ ROUNDS times (default 10) in random order. In every second round each core is busy with other
# work. Prints a line per round and the names of failed tests; logs are in build/stress. Exit code 1 if any test failed.
set -eu
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-10} jobs=${JOBS:-$(nproc)} logs=build/stress
busy=""

load() {
  for _ in $(seq "$(nproc)"); do
    timeout 6h sh -c 'while :; do :; done' &
    busy="$busy $!"
  done
}
unload() {
  # shellcheck disable=SC2086
  [ -z "$busy" ] || kill $busy 2> /dev/null || true
  busy=""
}
trap unload EXIT
trap 'exit 130' INT TERM

rm -rf "$logs"
mkdir -p "$logs"
failed_rounds=0
for round in $(seq "$rounds"); do
  cores=idle
  if [ $((round % 2)) = 0 ]; then
    cores=loaded
    load
  fi
  log=$logs/round-$round.log start=$(date +%s)
  passed=yes
  ctest --test-dir build --schedule-random --output-on-failure -j "$jobs" > "$log" 2>&1 || passed=no
  unload
  echo "round $round of $rounds, cores $cores: $(grep 'tests passed' "$log" || tail -n 1 "$log"), $(($(date +%s) - start)) s"
  if [ $passed = no ]; then
    failed_rounds=$((failed_rounds + 1))
    sed -n '/^The following tests FAILED:/,$ s/^[[:space:]]*[0-9][0-9]* - /  failed: /p' "$log"
  fi
done
echo "$failed_rounds of $rounds rounds had failures; logs in $logs"
[ "$failed_rounds" = 0 ]
