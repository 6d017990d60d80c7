# Every library the build needs; docs/dependencies.md says why.
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(hdf5 REQUIRED IMPORTED_TARGET hdf5)
if(PARSNETS_SECCOMP STREQUAL "AUTO")
  pkg_check_modules(seccomp IMPORTED_TARGET libseccomp)
elseif(PARSNETS_SECCOMP)
  pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
endif()

# Libraries outside the system's folders are found where they were linked; no element of a run path is empty, which would
# be the current folder: the run path for the build tree, which CMake pads with colons, is not used.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(NOT PARSNETS_DEBIAN)  # all libraries of its packages are where the loader looks
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()
foreach(folder IN LISTS hdf5_LIBRARY_DIRS)
  if(folder MATCHES "^/usr/lib/")  # the loader finds Debian's alternatives by itself
    string(REGEX REPLACE "/$" "" folder ${folder})
    list(APPEND CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES ${folder})
    list(APPEND CMAKE_C_IMPLICIT_LINK_DIRECTORIES ${folder})
  endif()
endforeach()
