# cmake -DSOURCE=DIR -DWORK=DIR -P onnx_runtime_test.cmake: where ONNX Runtime is found, on folders as its releases,
# installations, Debian and npm have them.
cmake_minimum_required(VERSION 3.25)
include(${SOURCE}/cmake/OnnxRuntime.cmake)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)

if(WANTED)  # one run in a process of its own: a failure ends it
  find_onnxruntime("${WANTED}")
  return()
endif()

file(REMOVE_RECURSE ${WORK})
function(put)
  foreach(file ${ARGN})
    file(WRITE ${WORK}/${file} "")
  endforeach()
endfunction()
put(release/include/onnxruntime_c_api.h release/lib/libonnxruntime.so)
put(installed/include/onnxruntime/onnxruntime_c_api.h installed/lib64/libonnxruntime.so)
put(old/include/onnxruntime/core/session/onnxruntime_c_api.h old/lib/libonnxruntime.so)
put(debian/include/onnxruntime/onnxruntime_c_api.h debian/lib/x86_64-linux-gnu/libonnxruntime.so)
put(numbered/include/onnxruntime_c_api.h numbered/lib/libonnxruntime.so.1)
put(headers/include/onnxruntime_c_api.h)

function(expect where header library)
  find_onnxruntime("${where}")
  string(REGEX REPLACE "/$" "" ONNXRUNTIME_INCLUDE_FOLDER "${ONNXRUNTIME_INCLUDE_FOLDER}")
  if(NOT "${ONNXRUNTIME_INCLUDE_FOLDER}|${ONNXRUNTIME_LIBRARY}" STREQUAL "${header}|${library}")
    message(FATAL_ERROR "${where}: found '${ONNXRUNTIME_INCLUDE_FOLDER}' and '${ONNXRUNTIME_LIBRARY}'")
  endif()
endfunction()
foreach(way IN ITEMS folder system)
  foreach(place "release|include|lib/libonnxruntime.so" "installed|include/onnxruntime|lib64/libonnxruntime.so"
          "old|include/onnxruntime/core/session|lib/libonnxruntime.so"
          "debian|include/onnxruntime|lib/x86_64-linux-gnu/libonnxruntime.so"
          "numbered|include|lib/libonnxruntime.so.1")
    string(REPLACE "|" ";" parts ${place})
    list(GET parts 0 name)
    list(GET parts 1 header)
    list(GET parts 2 library)
    if(way STREQUAL "folder")
      expect(${WORK}/${name} ${WORK}/${name}/${header} ${WORK}/${name}/${library})
      expect(OFF "" "")
    else()
      set(CMAKE_PREFIX_PATH ${WORK}/${name})
      expect(AUTO ${WORK}/${name}/${header} ${WORK}/${name}/${library})
      expect(ON ${WORK}/${name}/${header} ${WORK}/${name}/${library})
      expect(OFF "" "")
    endif()
  endforeach()
endforeach()

# A folder without it is an error, though the system has it.
foreach(wrong headers absent)
  execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${SOURCE} -DCMAKE_PREFIX_PATH=${WORK}/release -DWANTED=${WORK}/${wrong}
                          -P ${CMAKE_CURRENT_LIST_FILE} RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_QUIET)
  if(code EQUAL 0 OR NOT said MATCHES "expected.*onnxruntime_c_api.h")
    message(FATAL_ERROR "${wrong}: exit code ${code}: ${said}")
  endif()
endforeach()
file(REMOVE_RECURSE ${WORK})
