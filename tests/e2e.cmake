# e2e_tests: client and server together, over real sockets (tests/e2e) and inside the simulation (tests/sim).
# It links the library as a user's program would.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/e2e/*_test.cpp
                                    ${PROJECT_SOURCE_DIR}/tests/sim/*_test.cpp)
if(thread_sanitizer)
  # Its build takes long. A world of the simulation has one thread, and most end-to-end tests have the same two: one waits
  # for what the other's loop does. These have more loops or threads.
  set(names callback_thread_claims channel_handle connection foreign_loop health lifetime loops_apart race responder server_lifetime
    service_fixture socket_handover start stream_observer telemetry_thread_claims then thread_claims)
  # And these stand for a kind of call or connection. Signals are not among them: ThreadSanitizer delivers them later, and one that is
  # raised again in a handler never.
  if(NOT CORACLE_TEST_E2E STREQUAL threads)
    list(APPEND names activation channelz channelz_tls drain_token foreign_coroutine handler_defects limits memory reflection restart
      server stream tls unary web_protocol)
  endif()
  list(TRANSFORM names REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/e2e/\\1_test.cpp" OUTPUT_VARIABLE sources)
endif()
if(sources)
  add_executable(e2e_tests ${sources} support/uring_faults.cpp)
  compile_together(e2e_tests 16)
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_sources(e2e_tests PRIVATE support/malloc_counter.cpp)
  endif()
  if(NOT thread_sanitizer)  # which has operators new and delete of its own
    target_sources(e2e_tests PRIVATE support/allocation_counter.cpp)
  endif()
  set_source_files_properties(support/uring_faults.cpp PROPERTIES INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(e2e_tests PRIVATE ${quickly_compiled})
  target_precompile_headers(e2e_tests PRIVATE support/precompiled.hpp)
  target_include_directories(e2e_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(e2e_tests PRIVATE CORACLE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(e2e_tests PRIVATE echo_of_tests
    coracle::coracle coracle::console coracle::telemetry coracle::naming coracle::tls coracle_build GTest::gmock GTest::gtest_main Threads::Threads)
  # Event loops that foreign_loop_test.cpp drives, beside headers of theirs that are better read alone.
  include(${PROJECT_SOURCE_DIR}/examples/08_foreign_loop/loops.cmake)
  target_include_directories(e2e_tests PRIVATE ${PROJECT_SOURCE_DIR}/examples)
  foreach(loop IN LISTS foreign_loops)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/support/foreign_loops/${loop}.cpp)
    set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(e2e_tests PRIVATE ${source})
    target_link_libraries(e2e_tests PRIVATE ${foreign_loop_library_${loop}})
  endforeach()
  # The .proto files that these tests speak are named beside them.
  include(${CMAKE_CURRENT_SOURCE_DIR}/e2e/protos.cmake OPTIONAL)
  if(CORACLE_TEST_DOCS AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")  # what guides show is tested elsewhere in e2e_tests
    include(docs.cmake)
  endif()
  # Real programs that it starts.
  add_executable(lifetime_server e2e/lifetime_server.cpp)
  target_include_directories(lifetime_server PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(lifetime_server PRIVATE echo_of_tests coracle::coracle coracle_build Threads::Threads)
  add_dependencies(e2e_tests lifetime_server)
  add_dependencies(test_programs e2e_tests)
endif()

# sim_swarm: scenarios that are played over many seeds (./dev sim).
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/sim/swarm/*.cpp)
if(thread_sanitizer)
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/tests/sim/swarm/live_memory.cpp)
else()
  list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/tests/sim/swarm/uncounted_memory.cpp)
endif()
add_executable(sim_swarm ${sources})
compile_together(sim_swarm 12)
# One defines a macro for a header of OpenSSL, the other replaces the operators new and delete.
set_source_files_properties(sim/swarm/seeded_openssl.cpp sim/swarm/live_memory.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_options(sim_swarm PRIVATE $<$<CONFIG:Release>:-O2>)  # runs for longer than it compiles
target_precompile_headers(sim_swarm PRIVATE support/precompiled.hpp)
target_include_directories(sim_swarm PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(sim_swarm PRIVATE echo_of_tests
  coracle::coracle coracle::tls coracle_build OpenSSL::Crypto GTest::gmock Threads::Threads)
add_dependencies(test_programs sim_swarm)

# sim_day: a day of a fleet of servers, with protections and without (./dev fleet).
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/sim/day/*.cpp)
add_executable(sim_day ${sources})
compile_together(sim_day 8)
target_compile_options(sim_day PRIVATE $<$<CONFIG:Release>:-O2>)  # runs for longer than it compiles
target_precompile_headers(sim_day PRIVATE support/precompiled.hpp)
target_include_directories(sim_day PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(sim_day PRIVATE echo_of_tests coracle::coracle coracle_build Threads::Threads)
add_dependencies(test_programs sim_day)
