# What ours is measured against: the floor, and other people's servers where their libraries are found.

add_executable(bench_floor peers/floor.cpp)
target_link_libraries(bench_floor PRIVATE coracle_build)
target_compile_features(bench_floor PRIVATE cxx_std_20)

find_package(gRPC CONFIG QUIET)
if(gRPC_FOUND)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/grpcpp)
  set(stem ${out}/helloworld)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
    COMMAND protobuf::protoc -I${CMAKE_CURRENT_SOURCE_DIR}/protos --cpp_out=${out} --grpc_out=${out}
      --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> helloworld.proto
    DEPENDS protos/helloworld.proto
    VERBATIM)
  add_executable(bench_grpcpp_greeter peers/grpcpp_greeter.cpp ${stem}.pb.cc ${stem}.grpc.pb.cc)
  set_source_files_properties(${stem}.pb.cc ${stem}.grpc.pb.cc PROPERTIES COMPILE_OPTIONS -w)
  target_compile_features(bench_grpcpp_greeter PRIVATE cxx_std_20)
  target_include_directories(bench_grpcpp_greeter SYSTEM PRIVATE ${out})
  target_link_libraries(bench_grpcpp_greeter PRIVATE gRPC::grpc++ coracle_build)
else()
  message(STATUS "the grpc++ peer is left out: there is no grpc++ (libgrpc++-dev protobuf-compiler-grpc)")
endif()
