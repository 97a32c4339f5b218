# What `./dev package` makes: libcoracle-dev and the program `coracle`, and with BUILD_SHARED_LIBS the library itself in
# a package of its own.

find_program(CORACLE_DPKG dpkg)
mark_as_advanced(CORACLE_DPKG)
if(NOT CORACLE_DPKG)
  return()
endif()

set(CPACK_GENERATOR DEB)
# "~dev" comes before the release.
string(REPLACE - ~ CPACK_PACKAGE_VERSION ${PROJECT_VERSION}${coracle_version_suffix})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL coracle_dev)
set(CPACK_PACKAGE_CONTACT "The authors of Coracle")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

# The licenses lie where Debian wants them in packages alone: EXCLUDE_FROM_ALL keeps them out of cmake --install.
set(CPACK_DEBIAN_CORACLE_DEV_PACKAGE_NAME libcoracle-dev)
set(CPACK_DEBIAN_CORACLE_DEV_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_CORACLE_DEV_DESCRIPTION "Headers, library, package files and protoc-gen-coracle.")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libcoracle-dev RENAME copyright
  COMPONENT coracle_dev EXCLUDE_FROM_ALL)
if(TARGET coracle_program)
  list(APPEND CPACK_COMPONENTS_ALL coracle_tools)
  set(CPACK_DEBIAN_CORACLE_TOOLS_PACKAGE_NAME coracle)
  set(CPACK_DEBIAN_CORACLE_TOOLS_PACKAGE_SECTION utils)
  set(CPACK_COMPONENT_CORACLE_TOOLS_DESCRIPTION "A program that calls, tries and watches any gRPC server.")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/coracle RENAME copyright
    COMPONENT coracle_tools EXCLUDE_FROM_ALL)
endif()
if(BUILD_SHARED_LIBS)
  set(soname libcoracle${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  list(PREPEND CPACK_COMPONENTS_ALL coracle_runtime)
  set(CPACK_DEBIAN_CORACLE_RUNTIME_PACKAGE_NAME ${soname})
  set(CPACK_DEBIAN_CORACLE_RUNTIME_PACKAGE_SECTION libs)
  set(CPACK_COMPONENT_CORACLE_RUNTIME_DESCRIPTION "The shared library.")
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${soname} RENAME copyright
    COMPONENT coracle_runtime EXCLUDE_FROM_ALL)
  set(CPACK_CORACLE_DEPENDS "${soname} (= ${CPACK_PACKAGE_VERSION})")
  set(CPACK_DEBIAN_CORACLE_TOOLS_PACKAGE_DEPENDS ${CPACK_CORACLE_DEPENDS})
endif()

# Which packages the build's libraries came from is asked when the package is made: coracle_package_depends.cmake.
set(CPACK_CORACLE_MODULES protobuf)
if(NOT BUILD_SHARED_LIBS)
  list(APPEND CPACK_CORACLE_DEPENDS pkgconf)  # finds the libraries in coracleConfig.cmake
  foreach(library IN LISTS coracle_linked)
    list(APPEND CPACK_CORACLE_MODULES ${coracle_modules_of_${library}})
  endforeach()
  list(APPEND CPACK_CORACLE_MODULES openssl)
endif()
list(TRANSFORM CPACK_CORACLE_MODULES REPLACE ">=.*" "")
set(CPACK_CORACLE_PROTOC ${Protobuf_PROTOC_EXECUTABLE})
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/coracle_package_depends.cmake)
include(CPack)
