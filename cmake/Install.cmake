# Install and export: a CMake package (`find_package(parsnets)`) and a pkg-config file. The components are those of
# cmake/Package.cmake; without a name, all are installed.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

install(TARGETS parsnets parsnets_shared parsnets_flags EXPORT parsnetsTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/parsnets DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/generated/parsnets/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/parsnets)
install(FILES runtime/parsnets_rt.h runtime/parsnets_rt.c DESTINATION ${CMAKE_INSTALL_DATADIR}/parsnets/runtime)  # to copy into a device's project
install(EXPORT parsnetsTargets NAMESPACE parsnets:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/parsnets)

configure_package_config_file(cmake/parsnetsConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/parsnetsConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/parsnets)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/parsnetsConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/parsnetsConfig.cmake
              ${CMAKE_BINARY_DIR}/generated/parsnetsConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/parsnets)

configure_file(cmake/parsnets.pc.in ${CMAKE_BINARY_DIR}/generated/parsnets.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/generated/parsnets.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
