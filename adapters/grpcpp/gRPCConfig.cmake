# What find_package(gRPC CONFIG) reads if gRPC_DIR is this directory: Coracle under the names of grpc++'s targets.

include(CMakeFindDependencyMacro)
find_dependency(coracle COMPONENTS tls PATHS ${CMAKE_CURRENT_LIST_DIR}/../coracle NO_DEFAULT_PATH)

foreach(name IN ITEMS grpc++ grpc++_unsecure grpc++_reflection grpc++_error_details grpcpp_channelz grpc grpc_unsecure gpr)
  if(NOT TARGET gRPC::${name})
    add_library(gRPC::${name} INTERFACE IMPORTED)
    set_target_properties(gRPC::${name} PROPERTIES INTERFACE_LINK_LIBRARIES coracle::grpcpp)
  endif()
endforeach()

# As in grpc++, the servers of a program that links it have reflection.
set_property(TARGET gRPC::grpc++_reflection PROPERTY INTERFACE_SOURCES ${CMAKE_CURRENT_LIST_DIR}/linked_reflection.cpp)

# Programs run it as $<TARGET_FILE:gRPC::grpc_cpp_plugin>; it is in the package protobuf-compiler-grpc.
if(NOT TARGET gRPC::grpc_cpp_plugin)
  find_program(CORACLE_GRPC_PLUGIN grpc_cpp_plugin)
  mark_as_advanced(CORACLE_GRPC_PLUGIN)
  if(CORACLE_GRPC_PLUGIN)
    add_executable(gRPC::grpc_cpp_plugin IMPORTED)
    set_target_properties(gRPC::grpc_cpp_plugin PROPERTIES IMPORTED_LOCATION ${CORACLE_GRPC_PLUGIN})
  endif()
endif()
