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

# bench_on_grpcpp(prefix library): the programs on grpc++'s API, with a library that has it: prefix_greeter and so on.
function(bench_on_grpcpp prefix library)
  add_library(${prefix}_protos STATIC ${grpcpp_sources})
  target_compile_features(${prefix}_protos PUBLIC cxx_std_20)
  target_compile_options(${prefix}_protos PRIVATE -w)
  target_include_directories(${prefix}_protos SYSTEM PUBLIC ${grpcpp_generated})
  target_link_libraries(${prefix}_protos PUBLIC ${library})
  foreach(name IN LISTS ARGN)
    bench_raw_program(${prefix}_${name} peers/grpcpp_${name}.cpp)
    target_link_libraries(${prefix}_${name} PRIVATE ${prefix}_protos)
  endforeach()
  foreach(api IN ITEMS queue callback agrpc)
    target_sources(${prefix}_workload PRIVATE peers/grpcpp_workload_${api}.cpp)
  endforeach()
  foreach(name IN ITEMS agrpc workload)
    target_link_libraries(${prefix}_${name} PRIVATE coracle::agrpc Boost::headers)
  endforeach()
endfunction()

find_package(gRPC CONFIG QUIET)
if(gRPC_FOUND AND Boost_FOUND)
  set(grpcpp_generated ${CMAKE_CURRENT_BINARY_DIR}/generated/grpcpp)
  file(MAKE_DIRECTORY ${grpcpp_generated})
  foreach(name IN ITEMS helloworld idle orders testsvc)
    set(stem ${grpcpp_generated}/${name})
    add_custom_command(OUTPUT ${stem}.pb.cc ${stem}.pb.h ${stem}.grpc.pb.cc ${stem}.grpc.pb.h
      COMMAND protobuf::protoc -I${CMAKE_CURRENT_SOURCE_DIR}/protos --cpp_out=${grpcpp_generated} --grpc_out=${grpcpp_generated}
        --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${name}.proto
      DEPENDS protos/${name}.proto
      VERBATIM)
    list(APPEND grpcpp_sources ${stem}.pb.cc ${stem}.grpc.pb.cc)
  endforeach()
  bench_on_grpcpp(bench_grpcpp gRPC::grpc++ sync greeter callback agrpc hello workload)
  if(CORACLE_BUILD_GRPCPP)
    bench_on_grpcpp(bench_relinked coracle::grpcpp sync greeter callback agrpc hello workload)
  endif()
else()
  message(STATUS "the grpc++ peers are left out: there is no grpc++ or no Boost (libgrpc++-dev protobuf-compiler-grpc libboost-dev)")
endif()

# What counts the allocations of any of them.
add_library(bench_malloc_counter MODULE harness/malloc_counter.cpp)
target_compile_features(bench_malloc_counter PRIVATE cxx_std_20)
