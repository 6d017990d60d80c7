#!/bin/sh
# What there is for Arduino, Zephyr and ESP-IDF, built for a Cortex-M4 with stand-ins for their cores and CMake
# functions; without arm-none-eabi-gcc for this machine. The Arduino example runs here. Usage: components.sh SOURCE_DIR
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
prefix="" flags=""
if command -v arm-none-eabi-g++ > /dev/null; then
  prefix=arm-none-eabi- flags="-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
fi
version=$(sed -n 's/^project(parsnets VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")

# Arduino: the fields that its IDE requires, and the sketch as the IDE compiles it: as C++, after Arduino.h.
library=$("$root/runtime/arduino/make.sh" "$work/arduino")
for field in name version author maintainer sentence paragraph category url architectures; do
  grep -q "^$field=." "$library/library.properties" || fail "library.properties has no $field"
done
grep -qx "version=$version" "$library/library.properties" || fail "library.properties: expected version $version"
mkdir "$work/core"
cat > "$work/core/Arduino.h" <<'H'
#pragma once
#include <stdint.h>
#include <stdio.h>
struct Port {
  void begin(unsigned long) {}
  void println(const char* text) { puts(text); }
};
extern Port Serial;
void setup();
void loop();
H
printf '#include "Arduino.h"\nPort Serial;\nint main() { setup(); loop(); }\n' > "$work/core/main.cpp"
sketch() {  # prefix, flags: all of it, linked
  # shellcheck disable=SC2086
  { "$1gcc" -std=gnu11 -Os -Wall -Wextra -Werror $2 -c "$library/src/parsnets_rt.c" -o "$work/runtime.o" &&
    "$1g++" -std=gnu++11 -Os -Wall -Wextra -Werror $2 -I"$work/core" -I"$library/src" -include Arduino.h \
      -I"$library/examples/Classify" -x c++ "$library/examples/Classify/Classify.ino" -x c++ "$work/core/main.cpp" \
      -x none "$work/runtime.o" $3 -lm -o "$work/sketch"; }
}
[ -z "$prefix" ] || sketch "$prefix" "$flags" --specs=nosys.specs 2> "$work/said" || { cat "$work/said"; exit 1; }
sketch "" "" ""
truth=$(grep -A1 'firmware_sample_classes\[' "$root/examples/device/firmware_samples.h" | grep -o '"[^"]*"' | head -n 1 | tr -d '"')
"$work/sketch" > "$work/said"
[ "$(uniq "$work/said")" = "$truth" ] || fail "the sketch says $(tr '\n' ' ' < "$work/said"), expected $truth twice"

# Zephyr: what module.yml names is there, and a switch of the runtime is an option of Kconfig.
module=$root/runtime/zephyr
[ -f "$root/runtime/$(sed -n 's/^  kconfig: //p' "$module/module.yml")" ] || fail "module.yml: no such Kconfig"
[ -f "$root/runtime/$(sed -n 's/^  cmake: //p' "$module/module.yml")/CMakeLists.txt" ] || fail "module.yml: no such CMakeLists.txt"
sed -n 's/^ \*   PNRT_NO_\([A-Z]*\) .*/\1/p' "$root/runtime/parsnets_rt.h" | sort > "$work/switches"
sed -n 's/^config PARSNETS_//p' "$module/Kconfig" | sort | cmp - "$work/switches" || fail "Kconfig has other parts"
grep -q "^version: \"$version\"$" "$root/runtime/idf_component.yml" || fail "idf_component.yml: expected version $version"

# Both by the CMake of this machine, with functions in place of theirs that do the same.
build() {  # name, program of CMake
  mkdir "$work/$1"
  printf 'cmake_minimum_required(VERSION 3.16)\nproject(%s C)\n%s\n' "$1" "$2" > "$work/$1/CMakeLists.txt"
  { cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER="${prefix}gcc" \
      -DCMAKE_C_FLAGS="$flags -Os -Werror" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY &&
    cmake --build "$work/$1/build"; } > "$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
  find "$work/$1/build" -name '*.a' -exec "${prefix}size" -t {} + | awk '/TOTALS/ { print $1 }'
}
zephyr="function(zephyr_include_directories)\n include_directories(\${ARGN})\nendfunction()
function(zephyr_compile_definitions)\n add_compile_definitions(\${ARGN})\n set_property(GLOBAL APPEND PROPERTY parts \${ARGN})\nendfunction()
function(zephyr_library)\n set_property(GLOBAL PROPERTY made TRUE)\nendfunction()
function(zephyr_library_sources)\n get_property(parts GLOBAL PROPERTY parts)\n add_library(module STATIC \${ARGN})\n target_compile_definitions(module PRIVATE \${parts})\nendfunction()
function(zephyr_library_compile_options)\n target_compile_options(module PRIVATE \${ARGN})\nendfunction()"
zephyr=$(printf '%b' "$zephyr")
small=$(build zephyr_small "$zephyr
set(CONFIG_PARSNETS y)
include($module/CMakeLists.txt)")
whole=$(build zephyr_whole "$zephyr
foreach(part LEARN SAVE EXPLAIN REJECT FLOAT SIMD)
  set(CONFIG_PARSNETS_\${part} y)
endforeach()
set(CONFIG_PARSNETS y)
include($module/CMakeLists.txt)")
[ "$small" -lt "$whole" ] || fail "Kconfig leaves nothing out: $small and $whole bytes"
component=$(build esp "set(ESP_PLATFORM 1)
set(COMPONENT_LIB parsnets)
function(idf_component_register)
  cmake_parse_arguments(x \"\" \"\" \"SRCS;INCLUDE_DIRS\" \${ARGN})
  list(TRANSFORM x_SRCS PREPEND $root/runtime/)
  add_library(parsnets STATIC \${x_SRCS})
  target_include_directories(parsnets PUBLIC $root/runtime)
endfunction()
include($root/runtime/CMakeLists.txt)")
echo "${prefix:-this machine, }gcc: Arduino library with its example, Zephyr module $small to $whole bytes, ESP-IDF component $component bytes"
