# parsnets_fast_build(target HEADER...): precompiles the headers for a target, and compiles its sources in groups of
# neighbours from one folder, so that headers and templates are compiled once for a group instead of once for a file.
# Names in anonymous namespaces are therefore unique in a folder; the compiler says where they are not.
# -DPARSNETS_UNITY=OFF compiles every file by itself: for clang-tidy, to see that each includes what it uses, and while a
# file is being worked on. With ccache, which keeps what was compiled, that is the default.
set(unity_default ON)
if("${CMAKE_CXX_COMPILER_LAUNCHER} $ENV{CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES ccache)
  set(unity_default OFF)
endif()
option(PARSNETS_UNITY "Compile sources in groups, with precompiled headers" ${unity_default})
set(PARSNETS_GROUP_SIZE 16)

set(PARSNETS_COMMON_HEADERS <algorithm> <array> <bit> <charconv> <chrono> <cmath> <cstdint> <cstring> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
    <unordered_map> <utility> <vector> <fmt/format.h> <nlohmann/json.hpp>)

function(parsnets_fast_build target)
  if(NOT PARSNETS_UNITY)
    return()
  endif()
  string(REPLACE ">" "$<ANGLE-R>" headers "${ARGN}")
  target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${headers}>")
  # GCC takes what is in a group for a header, and inlining across files has it doubt the strings of option structs.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage -Wno-maybe-uninitialized>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)  # precompiled headers are for the options of all
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(options OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} group)
    math(EXPR number "${count_${group}} + 0")
    math(EXPR count_${group} "${number} + 1")
    math(EXPR number "${number} / ${PARSNETS_GROUP_SIZE}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${number})
  endforeach()
endfunction()
