# -DPARSNETS_PORTABLE=ON: tool, parsnets-decode and libparsnets.so for older systems, and for processes that have another libstdc++, as
# Python's: libstdc++, libgcc and fmt become parts of them. Only the linking differs, so that turning it on and off in a
# build folder compiles nothing again.
if(NOT PARSNETS_PORTABLE)
  return()
endif()
add_library(parsnets_portable OBJECT ${CMAKE_CURRENT_LIST_DIR}/portable.cpp)
target_link_libraries(parsnets_portable PRIVATE fmt::fmt)
foreach(program parsnets_shared parsnets_cli parsnets_decode)
  if(TARGET ${program})
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:parsnets_portable>)
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed)
  endif()
endforeach()
