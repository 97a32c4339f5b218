# out_of_memory_tests: a server and its clients while allocations fail. A program of its own, since it replaces malloc();
# a sanitizer's build has an allocator of its own.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/out_of_memory/*.cpp)
  if(NOT TARGET coracle::xds)
    list(FILTER sources EXCLUDE REGEX "/every_mesh_")
  endif()
  add_executable(out_of_memory_tests ${sources})
  target_compile_options(out_of_memory_tests PRIVATE ${quickly_compiled})
  target_precompile_headers(out_of_memory_tests PRIVATE support/precompiled.hpp)
  target_include_directories(out_of_memory_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(out_of_memory_tests PRIVATE CORACLE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(out_of_memory_tests PRIVATE echo_of_tests
    coracle::coracle coracle::naming coracle::tls coracle_build GTest::gmock GTest::gtest_main Threads::Threads)
  if(TARGET coracle::xds)
    # with the messages of control planes
    target_include_directories(out_of_memory_tests PRIVATE $<TARGET_PROPERTY:coracle_xds,INCLUDE_DIRECTORIES>)
    target_link_libraries(out_of_memory_tests PRIVATE coracle::xds)
  endif()
  add_dependencies(test_programs out_of_memory_tests)
endif()
