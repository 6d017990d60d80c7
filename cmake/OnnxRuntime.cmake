# find_onnxruntime(WHERE) sets ONNXRUNTIME_INCLUDE_FOLDER and ONNXRUNTIME_LIBRARY, or leaves both empty.
#   AUTO    where the system or CMAKE_PREFIX_PATH has it
#   ON      the same, and fails where it is not there
#   OFF     never
#   FOLDER  there and nowhere else: an unpacked release, or where it was installed
# Releases have their headers in include/, installations in include/onnxruntime/, older ones in core/session/ below it.
function(find_onnxruntime where)
  set(ONNXRUNTIME_INCLUDE_FOLDER "" PARENT_SCOPE)
  set(ONNXRUNTIME_LIBRARY "" PARENT_SCOPE)
  if(where MATCHES "^(OFF|NO|FALSE|0|)$")
    return()
  endif()
  set(places "")
  if(NOT where MATCHES "^(AUTO|ON|YES|TRUE|1)$")
    set(places PATHS ${where} NO_DEFAULT_PATH)
  endif()
  unset(header)  # the caller's variables are visible here, and would count as found
  unset(library)
  # Not cached: another value of the option is another place.
  find_path(header onnxruntime_c_api.h ${places} NO_CACHE
            PATH_SUFFIXES include include/onnxruntime include/onnxruntime/core/session onnxruntime onnxruntime/core/session)
  find_library(library NAMES onnxruntime libonnxruntime.so.1 ${places} NO_CACHE
               PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
  if(header AND library)
    set(ONNXRUNTIME_INCLUDE_FOLDER ${header} PARENT_SCOPE)
    set(ONNXRUNTIME_LIBRARY ${library} PARENT_SCOPE)
  elseif(NOT where STREQUAL "AUTO")
    message(FATAL_ERROR "PARSNETS_ONNXRUNTIME=${where}: expected onnxruntime_c_api.h and libonnxruntime.so, found "
                        "${header} and ${library}; give the folder that has include/ and lib/")
  endif()
endfunction()
