# What ours is measured against: the floor, and other people's servers where their libraries are found.

# bench_raw_program(name source): without the library.
function(bench_raw_program name source)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE coracle_build)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
endfunction()

bench_raw_program(bench_floor peers/floor.cpp)
bench_raw_program(bench_echo_epoll peers/echo_epoll.cpp)
bench_raw_program(bench_echo_uring peers/echo_uring.cpp)
target_link_libraries(bench_echo_uring PRIVATE PkgConfig::uring)

find_path(ASIO_INCLUDE_DIR asio.hpp)
mark_as_advanced(ASIO_INCLUDE_DIR)
if(ASIO_INCLUDE_DIR)
  foreach(part IN ITEMS echo micro)
    bench_raw_program(bench_${part}_asio peers/${part}_asio.cpp)
    target_include_directories(bench_${part}_asio SYSTEM PRIVATE ${ASIO_INCLUDE_DIR})
  endforeach()
else()
  message(STATUS "the asio peers are left out: there is no asio (libasio-dev)")
endif()

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
