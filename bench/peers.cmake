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
  file(MAKE_DIRECTORY ${out})
  add_library(bench_grpcpp_protos STATIC)
  foreach(name IN ITEMS helloworld idle orders testsvc)
    set(stem ${out}/${name})
    add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
      COMMAND protobuf::protoc -I${CMAKE_CURRENT_SOURCE_DIR}/protos --cpp_out=${out} --grpc_out=${out}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${name}.proto
      DEPENDS protos/${name}.proto
      VERBATIM)
    target_sources(bench_grpcpp_protos PRIVATE ${stem}.pb.cc ${stem}.grpc.pb.cc)
  endforeach()
  target_compile_features(bench_grpcpp_protos PUBLIC cxx_std_20)
  target_compile_options(bench_grpcpp_protos PRIVATE -w)
  target_include_directories(bench_grpcpp_protos SYSTEM PUBLIC ${out})
  target_link_libraries(bench_grpcpp_protos PUBLIC gRPC::grpc++)
  foreach(name IN ITEMS greeter callback hello workload)
    bench_raw_program(bench_grpcpp_${name} peers/grpcpp_${name}.cpp)
    target_link_libraries(bench_grpcpp_${name} PRIVATE bench_grpcpp_protos)
  endforeach()
else()
  message(STATUS "the grpc++ peers are left out: there is no grpc++ (libgrpc++-dev protobuf-compiler-grpc)")
endif()

# What counts the allocations of any of them.
add_library(bench_malloc_counter MODULE harness/malloc_counter.cpp)
target_compile_features(bench_malloc_counter PRIVATE cxx_std_20)
