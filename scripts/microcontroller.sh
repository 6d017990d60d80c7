#!/bin/sh
# The runtime on bare Cortex-M processors that QEMU emulates: the CRC-32 of what a model answers, which must be that of
# this machine; .text of the runtime, work, stack and instructions per prediction. QEMU counts an instruction as one,
# whatever a real processor takes for it. Usage: microcontroller.sh [MODEL.pnrt]... (an int8 model of the tests by default)
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- runtime/tests/golden_classes.pnrt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
all="-DPNRT_NO_LEARN -DPNRT_NO_SAVE -DPNRT_NO_EXPLAIN -DPNRT_NO_REJECT -DPNRT_NO_FLOAT"
failed=0

host() {  # model, flags: what this machine answers
  model=$1
  shift
  gcc -std=c99 -O1 -ffp-contract=off "$@" -Iruntime runtime/tests/cortex_m.c runtime/parsnets_rt.c -o "$work/host" -lm
  "$work/host" "$model" | cut -d ' ' -f 2
}

# name, machine, flash: address and bytes, RAM: address and bytes, then flags of the compiler
processor() {
  name=$1 machine=$2 flash=$3 flash_bytes=$4 ram=$5 ram_bytes=$6
  shift 6
  cat > "$work/link.ld" <<LD
MEMORY { flash (rx) : ORIGIN = $flash, LENGTH = $flash_bytes
         ram (rwx) : ORIGIN = $ram, LENGTH = $ram_bytes }
ENTRY(reset)
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > flash
  .ARM.exidx : { *(.ARM.exidx*) } > flash
  .data : ALIGN(4) { data_start = .; *(.data*) . = ALIGN(4); data_end = .; } > ram AT > flash
  data_load = LOADADDR(.data);
  .bss (NOLOAD) : ALIGN(4) { bss_start = .; *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > ram
  stack_bottom = ALIGN(8);
  stack_top = ORIGIN(ram) + LENGTH(ram);
}
LD
  for model in $models; do
    for set in all minimal; do
      flags=""
      [ "$set" = all ] || flags=$all
      memory=$((ram_bytes - 4096))
      [ "$memory" -le 2097152 ] || memory=2097152
      cp "$model" "$work/model.pnrt"
      # shellcheck disable=SC2086
      for source in runtime/parsnets_rt.c runtime/tests/cortex_m.c; do
        arm-none-eabi-gcc -std=gnu99 -Os -mthumb "$@" -ffp-contract=off -ffunction-sections $flags -DMEMORY="$memory" -DLEARNING=12288 \
          -DMODEL="\"$work/model.pnrt\"" -Iruntime -c "$source" -o "$work/$(basename "$source" .c).o"
      done
      text=$(arm-none-eabi-size -A "$work/parsnets_rt.o" | awk '/^\.text/ { sum += $2 } END { print sum }')
      if [ "$name $set" = "Cortex-M4 minimal" ] && [ "$text" -gt 10240 ]; then
        echo "$name, $set: $text bytes of .text, more than 10 KB"
        failed=1
      fi
      if ! arm-none-eabi-gcc -mthumb "$@" -nostartfiles --specs=nosys.specs -Wl,--gc-sections -T "$work/link.ld" \
        "$work/cortex_m.o" "$work/parsnets_rt.o" -lm -o "$work/program.elf" 2> "$work/link"; then
        grep -q 'overflowed\|will not fit' "$work/link" || { cat "$work/link"; exit 1; }
        echo "$name, $set, $(basename "$model"): does not fit; .text $text"
        continue
      fi
      found=$(qemu-system-arm -M "$machine" -display none -serial none -monitor none -semihosting-config enable=on,target=native \
        -icount shift=0 -kernel "$work/program.elf" 2>&1) ||
        { echo "$name, $set: $(echo "$found" | head -n 2)"; failed=1; continue; }
      learning=0x7fffffff
      [ "$memory" -lt 12288 ] || learning=0
      # shellcheck disable=SC2086
      expected=$(host "$model" $flags -DLEARNING=$learning)
      equal=yes
      [ "$(echo "$found" | cut -d ' ' -f 2)" = "$expected" ] || { equal="no: $expected on this machine"; failed=1; }
      echo "$name, $set, $(basename "$model"): .text $text, $found, CRC equal: $equal"
    done
  done
}

models=$*
processor "Cortex-M0" microbit 0x0 0x40000 0x20000000 0x4000 -mcpu=cortex-m0
processor "Cortex-M4" mps2-an386 0x0 0x400000 0x20000000 0x400000 -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16
processor "Cortex-M33" mps2-an505 0x10000000 0x400000 0x38000000 0x400000 -mcpu=cortex-m33 -mfloat-abi=hard -mfpu=fpv5-sp-d16
processor "Cortex-M55" mps3-an547 0x10000000 0x80000 0x30000000 0x80000 -mcpu=cortex-m55 -mfloat-abi=hard
exit $failed
