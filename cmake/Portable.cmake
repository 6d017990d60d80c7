# -DPARSNETS_PORTABLE=ON: a libparsnets.so for systems older than this one and for processes that have another libstdc++,
# as Python's: libstdc++, libgcc and fmt become parts of it. Only the linking differs, so that turning it on and off in a
# build folder compiles nothing again.
if(NOT PARSNETS_PORTABLE)
  return()
endif()
add_library(parsnets_fmt OBJECT ${CMAKE_CURRENT_LIST_DIR}/portable_fmt.cpp)  # Debian has no static library of it
target_link_libraries(parsnets_fmt PRIVATE fmt::fmt)
target_sources(parsnets_shared PRIVATE $<TARGET_OBJECTS:parsnets_fmt>)
target_link_options(parsnets_shared PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed)
