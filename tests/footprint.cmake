# footprint_tests: what idle connections and open streams take from the heap. A program of its own, optimised as users'
# programs are: frames of coroutines are larger without that, and under sanitizers.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND coracle_optimised)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/footprint/*_test.cpp)
  add_executable(footprint_tests ${sources} support/allocation_counter.cpp support/uring_faults.cpp)
  target_compile_options(footprint_tests PRIVATE -O1)
  target_include_directories(footprint_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(footprint_tests PRIVATE echo_of_tests coracle::coracle coracle_build GTest::gtest_main Threads::Threads)
  add_dependencies(test_programs footprint_tests)
endif()
