#!/bin/sh
# No program or library below the folders has a run path with an empty or relative element: the loader would take that
# for the current folder, and run a library that lies beside somebody's data. Usage: run_path_test.sh FOLDER...
set -eu
list=$(mktemp)
trap 'rm -f "$list"' EXIT
# By its first bytes; objects are no business of the loader, and `test` goes on without what tests leave behind.
find "$@" -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.o' ! -path '*/CMakeFiles/*' > "$list"
read_files=0 failed=0
while IFS= read -r file; do
  [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
  read_files=$((read_files + 1))
  for path in $(readelf -d -W "$file" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]$/[\1]/p' | tr ' ' '?'); do
    elements=${path#[} elements=:${elements%]}:
    # Every element starts with / or $ORIGIN.
    # shellcheck disable=SC2016
    if printf '%s' "${elements%:}" | sed 's#:\(/\|$ORIGIN\|${ORIGIN}\)[^:]*##g' | grep -q .; then
      echo "$file: expected a run path of absolute folders, found $path" >&2
      failed=1
    fi
  done
done < "$list"
[ "$read_files" -gt 0 ] || { echo "$*: expected programs or libraries, found none" >&2; exit 1; }
[ "$failed" = 0 ] || exit 1
echo "run paths of $read_files files are as they should be"
