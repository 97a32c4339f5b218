# Installs the library with its package file, and the plugin with the function that runs it.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coracle)
set(exported coracle coracle_usage)
set(programs)
if(TARGET protoc-gen-coracle)
  list(APPEND programs protoc-gen-coracle)
endif()

install(TARGETS ${exported} ${programs} EXPORT coracle_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# In a file of its own, which is read where OpenSSL is found.
install(TARGETS coracle_secure EXPORT coracle_tls_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT coracle_tls_targets NAMESPACE coracle:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/coracle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(EXPORT coracle_targets NAMESPACE coracle:: DESTINATION ${package_dir})

write_basic_package_version_file(${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_SOURCE_DIR}/cmake/coracleConfig.cmake
  ${PROJECT_SOURCE_DIR}/cmake/coracle_dependencies.cmake
  ${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake
  DESTINATION ${package_dir})
if(EXISTS ${PROJECT_SOURCE_DIR}/cmake/coracle_generate.cmake)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/coracle_generate.cmake DESTINATION ${package_dir})
endif()
