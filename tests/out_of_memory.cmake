# out_of_memory_tests: a server and its clients while allocations fail. A program of its own, since it replaces malloc();
# a sanitizer's build has an allocator of its own.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/out_of_memory/*.cpp)
  add_executable(out_of_memory_tests ${sources})
  target_compile_options(out_of_memory_tests PRIVATE ${quickly_compiled})
  target_precompile_headers(out_of_memory_tests PRIVATE support/precompiled.hpp)
  target_include_directories(out_of_memory_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(out_of_memory_tests PRIVATE CORACLE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(out_of_memory_tests PRIVATE
    coracle::coracle coracle::tls coracle_build GTest::gmock GTest::gtest_main Threads::Threads)
  coracle_generate(TARGET out_of_memory_tests PROTOS echo.proto IMPORT_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/e2e)
  add_dependencies(test_programs out_of_memory_tests)
endif()
