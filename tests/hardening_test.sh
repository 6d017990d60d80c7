#!/bin/sh
# Release programs and libraries are hardened, as far as their headers and symbols tell: all addresses are bound at the
# start and read-only from then on, stacks have guards, and string functions check their room (the modules and
# parsnets-decode call none that could). Usage: FILE...
set -eu
failed=0
lacks() {
  echo "$1: $2" >&2
  failed=1
}
for file; do
  headers=$(readelf -d -l -W "$file") symbols=$(readelf --dyn-syms -W "$file")
  case "$headers" in *GNU_RELRO*) ;; *) lacks "$file" "no read-only relocations" ;; esac
  case "$headers" in *BIND_NOW*) ;; *) lacks "$file" "addresses are bound one by one" ;; esac
  case "$headers" in *"GNU_STACK "*RWE*) lacks "$file" "an executable stack" ;; esac
  case "$headers" in *"Elf file type is DYN"*) ;; *) lacks "$file" "a fixed address" ;; esac
  case "$symbols" in *__stack_chk_fail*) ;; *) lacks "$file" "no stack protector" ;; esac
  case "$file $symbols" in *parsnets-*.so* | */parsnets-decode*) ;; *_chk@*) ;; *) lacks "$file" "no _FORTIFY_SOURCE" ;; esac
done
exit "$failed"
