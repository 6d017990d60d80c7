# What our own targets are compiled with; `target_link_libraries(x PRIVATE parsnets_flags)`.
add_library(parsnets_flags INTERFACE)
target_compile_options(parsnets_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi
  $<$<C_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds>  # false alarms of GCC 12 on std::string (PR 105651)
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual -Wno-pedantic>)
# No contraction: fused multiply-adds would make results depend on the instruction set.
target_compile_options(parsnets_flags INTERFACE -ffp-contract=off)
# Releases: stacks have guards, string functions check their room, and what the loader writes is read-only afterwards.
if(NOT PARSNETS_SANITIZE)
  target_compile_options(parsnets_flags INTERFACE
                         $<$<CONFIG:Release>:-fstack-protector-strong;-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
  target_link_options(parsnets_flags INTERFACE $<$<CONFIG:Release>:LINKER:-z,relro,-z,now>)
endif()
if(PARSNETS_WERROR)
  target_compile_options(parsnets_flags INTERFACE -Werror)
endif()
if(PARSNETS_SANITIZE)
  target_compile_options(parsnets_flags INTERFACE -fsanitize=${PARSNETS_SANITIZE} -fno-sanitize-recover=all
                         -fno-omit-frame-pointer -g1 $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(parsnets_flags INTERFACE -fsanitize=${PARSNETS_SANITIZE})
  target_compile_definitions(parsnets_flags INTERFACE PARSNETS_SANITIZED)
endif()
if(PARSNETS_COVERAGE)
  target_compile_options(parsnets_flags INTERFACE --coverage)
  target_link_options(parsnets_flags INTERFACE --coverage)
endif()
