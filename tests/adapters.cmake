# The tests of the adapters: a program for each, made as a user's, in tests/adapters/NAME.

# coracle_adapter_tests(PROGRAM LABEL SOURCE...): a program of tests with the echo service, and its shards for ./dev test. LABEL is
# the name of the adapter, alone or followed by that of a variant: asio, asio-standalone.
function(coracle_adapter_tests program label)
  string(REGEX REPLACE "-.*" "" adapter ${label})
  add_executable(${program} ${ARGN} ${PROJECT_SOURCE_DIR}/tests/support/uring_faults.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/uring_faults.cpp PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src)
  compile_together(${program} 6)
  target_compile_options(${program} PRIVATE ${quickly_compiled})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${program} PRIVATE echo_of_tests coracle::${adapter} coracle_build GTest::gmock GTest::gtest_main Threads::Threads)
  add_dependencies(test_programs ${program})
  coracle_tests(${program} ${label})
  coracle_shards(${program} ${label} SHARDS 2)
endfunction()

file(GLOB adapters CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/adapters/*/CMakeLists.txt)
foreach(adapter IN LISTS adapters)
  get_filename_component(folder ${adapter} DIRECTORY)
  add_subdirectory(${folder})
endforeach()

# Their headers, each with what its users link.
find_package(Boost 1.78 QUIET)
if(TARGET Boost::headers)
  set(headers_of_asio coracle::asio Boost::headers)
  set(headers_of_agrpc coracle::agrpc coracle::grpcpp Boost::headers)
endif()
set(headers_of_grpcpp coracle::grpcpp coracle::coracle)
set(made_headers_of_grpcpp ${PROJECT_BINARY_DIR}/adapters/grpcpp/include)
set(headers_of_execution coracle::execution)
set(headers_of_protobuf_services coracle::protobuf_services)
foreach(adapter IN ITEMS asio agrpc execution grpcpp protobuf_services)
  if(headers_of_${adapter} AND TARGET coracle::${adapter})
    set(folders ${PROJECT_SOURCE_DIR}/adapters/${adapter}/include ${made_headers_of_${adapter}})
    coracle_verify_headers(${adapter}_headers "${folders}" ${headers_of_${adapter}})
    # Senders, over the small provider of the tests of coracle::execution.
    target_include_directories(${adapter}_headers INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/adapters/execution/provider)
  else()
    message(STATUS "the headers of coracle::${adapter} are not verified: what they need is not installed")
  endif()
endforeach()
