# Debian packages of the install components, by `cpack -G DEB` (scripts/release.sh): the tool, libparsnets.so, what
# others build with, and the modules for photographs and MPI. -DPARSNETS_DEBIAN=ON adds the files of share/doc.
if(NOT PARSNETS_DEBIAN)
  return()
endif()
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # scripts/release.sh has built it
set(CPACK_PACKAGE_NAME parsnets)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The ParsNets developers <parsnets@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(soversion ${PROJECT_VERSION_MAJOR})
set(rule "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
# name of the component|package|section|other packages|what it is, and a sentence more
set(packages
  "tool|parsnets|science||zero-shot learning on the command line|It trains on classes with samples and predicts classes that are only\ndescribed, by attributes or text. It serves models over HTTP and exports\nthem to devices."
  "library|libparsnets${soversion}|libs||zero-shot learning, shared library|The C interface of ParsNets, for programs and for languages that call C."
  "development|libparsnets-dev|libdevel|libparsnets${soversion} (= ${rule}), libzip-dev, zlib1g-dev, libfmt-dev, pkg-config|zero-shot learning, headers and static library|Headers for C++20 and C, the static library, CMake package, pkg-config\nfile, and the device runtime as two C files."
  "photos|parsnets-photos|science|parsnets (= ${rule}), python3, python3-numpy|zero-shot learning on photographs|The module with which the tool decodes photographs and runs ONNX\nnetworks, and the program that fetches networks by name."
  "mpi|parsnets-mpi|science|parsnets (= ${rule}), openmpi-bin|zero-shot learning on several machines|The module with which the tool runs under mpirun.")
# An entry for each release: this one has the date of $SOURCE_DATE_EPOCH where it is set, others that of CHANGELOG.md.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(changelog "PACKAGE (${rule}) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
file(STRINGS CHANGELOG.md headings REGEX "^## \\[[0-9.]+\\] - ")
foreach(heading IN LISTS headings)
  string(REGEX REPLACE "^## .([0-9.]+). - (.*)" "\\1;\\2" heading "${heading}")
  list(GET heading 0 version)
  if(version VERSION_LESS PROJECT_VERSION)
    list(GET heading 1 day)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C date --utc --date=${day} -R OUTPUT_VARIABLE date
                    COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(APPEND changelog "\nPACKAGE (${version}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n"
           " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  endif()
endforeach()
set(CPACK_COMPONENTS_ALL "")
foreach(entry IN LISTS packages)
  string(REPLACE "|" ";" entry "${entry}")
  list(GET entry 0 component)
  list(GET entry 1 package)
  if((component STREQUAL "photos" AND NOT TARGET parsnets_backbones) OR (component STREQUAL "mpi" AND NOT TARGET parsnets_mpi)
     OR (component STREQUAL "tool" AND NOT TARGET parsnets_cli))
    continue()
  endif()
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  list(GET entry 2 CPACK_DEBIAN_${upper}_PACKAGE_SECTION)
  list(GET entry 3 CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS)
  list(GET entry 4 CPACK_COMPONENT_${upper}_DESCRIPTION)
  list(GET entry 5 more)
  string(APPEND CPACK_COMPONENT_${upper}_DESCRIPTION "\n${more}")
  # What policy asks for: who may do what with it, and what has changed. Dates are those of the commit.
  set(folder ${CMAKE_BINARY_DIR}/generated/debian/${package})
  file(MAKE_DIRECTORY ${folder})
  file(COPY_FILE ${PROJECT_SOURCE_DIR}/cmake/debian_copyright ${folder}/copyright)
  string(REPLACE PACKAGE ${package} entries "${changelog}")
  file(WRITE ${folder}/changelog.Debian "${entries}")
  execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${folder}/copyright ${folder}/changelog.Debian.gz DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PHOTOS_PACKAGE_RECOMMENDS npm)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "parsnets (= ${rule})")  # parsnets-decode, for MAT files
file(WRITE ${CMAKE_BINARY_DIR}/generated/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/generated/debian/triggers)
include(CPack)
