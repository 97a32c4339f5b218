# What find_package(gRPC CONFIG) reads if gRPC_DIR is this directory: Coracle under the names of grpc++'s targets.

include(CMakeFindDependencyMacro)
option(CORACLE_GRPCPP_XDS "Link coracle::grpcpp_xds to the targets of gRPC: control planes can configure their programs" OFF)
set(components tls)
set(library coracle::grpcpp)
if(CORACLE_GRPCPP_XDS)
  list(APPEND components grpcpp_xds)
  set(library coracle::grpcpp_xds)
endif()
find_dependency(coracle COMPONENTS ${components} PATHS ${CMAKE_CURRENT_LIST_DIR}/../coracle NO_DEFAULT_PATH)

# grpc++'s package finds what it stands on, and programs link that as found: absl::flags and its sisters above all. Nothing here
# needs it, so that what is not installed is not missed.
if(NOT Protobuf_FOUND AND NOT PROTOBUF_FOUND AND NOT protobuf_FOUND)
  find_package(Protobuf QUIET)
endif()
find_package(ZLIB QUIET)
find_package(OpenSSL QUIET)
find_package(PkgConfig QUIET)
if(NOT TARGET absl::strings)
  find_package(absl QUIET)
endif()
foreach(package IN ITEMS c-ares re2)
  if(package STREQUAL c-ares)
    set(target c-ares::cares)
    set(module libcares)
  else()
    set(target re2::re2)
    set(module re2)
  endif()
  if(NOT TARGET ${target})
    find_package(${package} QUIET)
  endif()
  # Debian's have no package files for CMake, but those of pkg-config.
  if(NOT TARGET ${target} AND PkgConfig_FOUND)
    pkg_check_modules(gRPC_${module} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(gRPC_${module}_FOUND)
      add_library(${target} ALIAS PkgConfig::gRPC_${module})
    endif()
  endif()
endforeach()

# The last ones are parts of grpc's core, which programs need not link.
foreach(name IN ITEMS grpc++ grpc++_unsecure grpc++_reflection grpc++_error_details grpc++_alts grpcpp_channelz grpc grpc_unsecure gpr
                      address_sorting upb)
  if(NOT TARGET gRPC::${name})
    add_library(gRPC::${name} INTERFACE IMPORTED)
    set_target_properties(gRPC::${name} PROPERTIES INTERFACE_LINK_LIBRARIES ${library})
  endif()
endforeach()

# Programs find opentelemetry-cpp by themselves: its package finds gRPC, which would be this one again.
if(NOT TARGET gRPC::grpcpp_otel_plugin)
  add_library(gRPC::grpcpp_otel_plugin INTERFACE IMPORTED)
  set_target_properties(gRPC::grpcpp_otel_plugin PROPERTIES INTERFACE_LINK_LIBRARIES
    "${library};coracle::opentelemetry;$<TARGET_NAME_IF_EXISTS:opentelemetry-cpp::api>")
endif()

# As in grpc++, the servers of a program that links it have reflection.
set_property(TARGET gRPC::grpc++_reflection PROPERTY INTERFACE_SOURCES ${CMAKE_CURRENT_LIST_DIR}/linked_reflection.cpp)

# What a program cannot link says so when it is compiled.
function(coracle_grpcpp_missing_target name text)
  if(NOT TARGET gRPC::${name})
    add_library(gRPC::${name} INTERFACE IMPORTED)
    set_target_properties(gRPC::${name} PROPERTIES
      INTERFACE_SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/missing_target.cpp
      INTERFACE_COMPILE_DEFINITIONS "CORACLE_GRPCPP_MISSING_TARGET=\"coracle::grpcpp has no gRPC::${name}: ${text}\"")
  endif()
endfunction()
coracle_grpcpp_missing_target(grpc_plugin_support "link libgrpc_plugin_support of grpc++ to programs that extend protoc")
coracle_grpcpp_missing_target(grpc_authorization_provider "use a server interceptor, or coracle::authorization")
coracle_grpcpp_missing_target(grpcpp_gcp_observability "use interceptors, or coracle::server_observer and coracle::client_observer")

# Programs run them as $<TARGET_FILE:gRPC::grpc_cpp_plugin>; that one is in the package protobuf-compiler-grpc.
foreach(language IN ITEMS cpp csharp node objective_c php python ruby)
  if(NOT TARGET gRPC::grpc_${language}_plugin)
    if(language STREQUAL cpp)
      set(variable CORACLE_GRPC_PLUGIN)
    else()
      string(TOUPPER CORACLE_GRPC_${language}_PLUGIN variable)
    endif()
    find_program(${variable} grpc_${language}_plugin)
    mark_as_advanced(${variable})
    if(${variable})
      add_executable(gRPC::grpc_${language}_plugin IMPORTED)
      set_target_properties(gRPC::grpc_${language}_plugin PROPERTIES IMPORTED_LOCATION ${${variable}})
    endif()
  endif()
endforeach()
