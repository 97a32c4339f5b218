# planted_hang, for tests/runner/hang_test.py.

add_executable(planted_hang runner/planted_hang.cpp support/uring_faults.cpp)
set_source_files_properties(support/uring_faults.cpp PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src)
target_include_directories(planted_hang PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(planted_hang PRIVATE coracle::coracle coracle_build GTest::gtest_main Threads::Threads)
