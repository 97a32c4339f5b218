# planted_hang, for tests/runner/hang_test.py.

add_executable(planted_hang runner/planted_hang.cpp support/uring_faults.cpp)
set_source_files_properties(support/uring_faults.cpp PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src)
target_include_directories(planted_hang PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(planted_hang PRIVATE coracle::coracle coracle_build GTest::gtest_main Threads::Threads)

# hanging_call, for tests/runner/debugger_test.py. Not optimised, so that gdb sees all of its variables.
add_executable(hanging_call runner/hanging_call.cpp runner/library_types.cpp)
set_source_files_properties(runner/library_types.cpp PROPERTIES
  COMPILE_OPTIONS "-fno-eliminate-unused-debug-types;$<IF:$<CXX_COMPILER_ID:GNU>,-femit-class-debug-always,-fstandalone-debug>")
coracle_generate(TARGET hanging_call PROTOS greeter.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/01_greeter)
target_include_directories(hanging_call PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(hanging_call PRIVATE -O0 -g)
target_link_libraries(hanging_call PRIVATE coracle::coracle coracle_build Threads::Threads)
