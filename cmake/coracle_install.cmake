# Installs the library with its package files, and the plugin with the function that runs it.

include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coracle)
set(coracle_shared ${BUILD_SHARED_LIBS})

# The C interface is shared in every build; of a static one it is in the only package there is.
set(runtime_component coracle_dev)
if(BUILD_SHARED_LIBS)
  set(runtime_component coracle_runtime)
endif()

# Targets with an export of their own, so that it can be read where it is wanted.
function(coracle_install_targets name)
  install(TARGETS ${ARGN} EXPORT ${name} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT coracle_dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT coracle_dev
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${runtime_component} NAMELINK_COMPONENT coracle_dev)
  install(EXPORT ${name} NAMESPACE coracle:: DESTINATION ${package_dir} COMPONENT coracle_dev)
endfunction()

get_property(coracle_adapters GLOBAL PROPERTY coracle_adapters)
coracle_install_targets(coracle_targets coracle coracle_pages coracle_observability coracle_names coracle_usage ${coracle_adapters})
get_property(coracle_tls_adapters GLOBAL PROPERTY coracle_tls_adapters)
coracle_install_targets(coracle_tls_targets coracle_secure ${coracle_tls_adapters})
get_property(coracle_xds_adapters GLOBAL PROPERTY coracle_xds_adapters)
if(CORACLE_BUILD_XDS)
  coracle_install_targets(coracle_xds_targets coracle_mesh ${coracle_xds_adapters})
endif()
if(TARGET protoc-gen-coracle)
  coracle_install_targets(coracle_plugin_targets protoc-gen-coracle)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/coracle DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT coracle_dev
  FILES_MATCHING PATTERN "*.hpp")

# For users' `import "google/api/annotations.proto"`: coracle_generate() and pkg-config's variable protodir name the folder.
set(proto_dir ${CMAKE_INSTALL_DATADIR}/coracle/proto)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/proto/google/api DESTINATION ${proto_dir}/google COMPONENT coracle_dev
  FILES_MATCHING PATTERN "*.proto")

# What coracle_modules.cmake makes targets of, in the build of a program.
set(modules_dir ${CMAKE_INSTALL_DATADIR}/coracle/modules)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/modules/ DESTINATION ${modules_dir} COMPONENT coracle_dev FILES_MATCHING PATTERN "*.cppm")

# For Prometheus and Grafana (docs/guides/observe.md).
install(FILES ${PROJECT_SOURCE_DIR}/packaging/prometheus/coracle.rules.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle/prometheus
  COMPONENT coracle_dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle COMPONENT coracle_dev
  FILES_MATCHING PATTERN "*.json")

# For gdb, which loads the second copy by itself together with the shared library, if the prefix is /usr.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/gdb/coracle-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle/gdb
  COMPONENT coracle_dev)
if(BUILD_SHARED_LIBS)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/gdb/coracle-gdb.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load${CMAKE_INSTALL_FULL_LIBDIR}
    RENAME libcoracle.so.${PROJECT_VERSION}-gdb.py COMPONENT coracle_dev)
endif()

# For operators, who trace programs with the probes of src/base/probe.hpp.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/packaging/bpftrace DESTINATION ${CMAKE_INSTALL_DATADIR}/coracle COMPONENT coracle_dev
  FILES_MATCHING PATTERN "*.bt")

# What is written into coracleConfig.cmake: a line for each library that a user of the static library links.
set(coracle_modules)
foreach(library IN LISTS coracle_linked)
  list(JOIN coracle_modules_of_${library} " " modules)
  string(APPEND coracle_modules "  set(coracle_modules_of_${library} ${modules})\n")
endforeach()
list(JOIN coracle_linked " " linked)
# Relative, so that the tree may be moved; an absolute directory stands for itself.
foreach(kind IN ITEMS proto modules)
  set(dir ${${kind}_dir})
  set(coracle_${kind}_dir ${dir})
  if(NOT IS_ABSOLUTE ${package_dir} AND NOT IS_ABSOLUTE ${dir})
    file(RELATIVE_PATH coracle_${kind}_dir /${package_dir} /${dir})
    string(PREPEND coracle_${kind}_dir "\${CMAKE_CURRENT_LIST_DIR}/")
  elseif(NOT IS_ABSOLUTE ${dir})
    string(PREPEND coracle_${kind}_dir ${CMAKE_INSTALL_PREFIX}/)
  endif()
endforeach()
# The components of find_package(): what is installed beside coracle::coracle, by the names of the targets.
foreach(targets IN ITEMS coracle_tls_adapters coracle_xds_adapters coracle_adapters)
  list(TRANSFORM ${targets} REPLACE "^coracle_" "" OUTPUT_VARIABLE names_of_${targets})
endforeach()
list(JOIN names_of_coracle_tls_adapters " " coracle_components_over_openssl)
string(PREPEND coracle_components_over_openssl "tls ")
set(names_over_re2)
if(CORACLE_BUILD_XDS)
  set(names_over_re2 xds ${names_of_coracle_xds_adapters})
endif()
list(JOIN names_over_re2 " " coracle_components_over_re2)
set(coracle_components module tls telemetry console naming ${names_over_re2} ${names_of_coracle_tls_adapters} ${names_of_coracle_adapters})
list(JOIN coracle_components ", " coracle_components)
block()
  set(coracle_linked ${linked})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/coracleConfig.cmake.in ${PROJECT_BINARY_DIR}/coracleConfig.cmake @ONLY)
endblock()
configure_file(${PROJECT_SOURCE_DIR}/cmake/coracleConfigVersion.cmake.in ${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake @ONLY)
install(FILES
  ${PROJECT_BINARY_DIR}/coracleConfig.cmake
  ${PROJECT_BINARY_DIR}/coracleConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/coracle_generate.cmake
  ${PROJECT_SOURCE_DIR}/cmake/coracle_modules.cmake
  DESTINATION ${package_dir} COMPONENT coracle_dev)

# For pkg-config. Its files are found from where they lie, so that the tree may be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${pc_dir})
  file(RELATIVE_PATH up /${pc_dir} /)
  string(REGEX REPLACE "/$" "" up ${up})
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir IN ITEMS LIBDIR INCLUDEDIR BINDIR DATADIR)
  string(TOLOWER pc_${dir} variable)
  set(path \${prefix})
  cmake_path(APPEND path ${CMAKE_INSTALL_${dir}})  # an absolute one stands alone
  set(${variable} ${path})
endforeach()
# Who links the static library links what it stands on, with --static or without: there is no other.
set(pc_requires "protobuf >= 3.21")
set(pc_tls_requires "coracle = ${PROJECT_VERSION}")
set(pc_xds_requires "coracle-tls = ${PROJECT_VERSION}")
set(coracle_pc_link_options)
if(NOT BUILD_SHARED_LIBS)
  foreach(library IN LISTS coracle_linked)
    foreach(module IN LISTS coracle_modules_of_${library})
      string(APPEND pc_requires ", ${module}")
    endforeach()
  endforeach()
  string(REGEX REPLACE "([a-z0-9])>=" "\\1 >= " pc_requires "${pc_requires}")
  string(APPEND pc_tls_requires ", openssl >= 3.0")
  string(APPEND pc_xds_requires ", re2")
  get_property(link_options GLOBAL PROPERTY coracle_static_link_options)
  list(JOIN link_options " " link_options)
  set(coracle_pc_link_options " ${link_options}")
endif()
set(pc_names coracle coracle-console coracle-naming coracle-telemetry coracle-tls)
if(CORACLE_BUILD_XDS)
  list(APPEND pc_names coracle-xds)
endif()
if(TARGET coracle_c)
  list(APPEND pc_names coracle-c)  # requires nothing: its library links what it needs, and its header is plain C
endif()
foreach(name IN LISTS pc_names)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT coracle_dev)
endforeach()

include(coracle_sbom)
