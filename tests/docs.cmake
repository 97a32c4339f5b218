# The code that the guides show: tests/docs/*_test.cpp are a part of e2e_tests; what people come from is compiled alone.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/docs/*_test.cpp)
target_sources(e2e_tests PRIVATE ${sources})
coracle_generate(TARGET e2e_tests FAKES GENERATE_DESCRIPTORS PROTOS movie.proto
  IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/02_movie OUT_DIR generated/e2e_movie)
set_source_files_properties(docs/console_test.cpp PROPERTIES COMPILE_DEFINITIONS
  CORACLE_MOVIE_PROTOSET="${CMAKE_CURRENT_BINARY_DIR}/generated/e2e_movie/movie.protoset")
coracle_generate(TARGET e2e_tests PROTOS greeter.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/01_greeter
  OUT_DIR generated/e2e_greeter)

# grpc++'s side of docs/guides/from_grpcpp.md.
find_package(gRPC CONFIG QUIET)
if(gRPC_FOUND)
  add_library(docs_grpcpp OBJECT docs/grpcpp/sync.cpp docs/grpcpp/queue.cpp docs/grpcpp/callback.cpp)
  target_compile_options(docs_grpcpp PRIVATE ${quickly_compiled})  # nothing runs it
  set(out ${CMAKE_CURRENT_BINARY_DIR}/generated/docs_grpcpp)
  coracle_generate(TARGET docs_grpcpp GRPC PROTOS movie.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/02_movie
    OUT_DIR ${out})
  coracle_generate(TARGET docs_grpcpp GRPC PROTOS greeter.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/01_greeter
    OUT_DIR ${out})
  target_link_libraries(docs_grpcpp PRIVATE coracle_build)
else()
  message(STATUS "the code that people come from is not compiled: there is no grpc++ (libgrpc++-dev)")
endif()
