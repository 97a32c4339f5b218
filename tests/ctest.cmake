# What CTest knows.
#
# Every test by its name, for `ctest --preset release -R NAME` and for IDEs: labelled unit, e2e, sim, out_of_memory, and with its
# backend. A process for each would take long, so that ./dev test runs whole programs, in shards: `ctest -C shards -L LABEL`. A
# shard leaves its cases in test-results/.

include(GoogleTest)
include(ProcessorCount)

set(test_limit_s 60)    # of one test
set(shard_limit_s 450)  # of all tests of a shard
if(CMAKE_CROSSCOMPILING)  # an emulator takes its time
  set(test_limit_s 300)
  set(shard_limit_s 1500)
endif()
set(test_results ${PROJECT_BINARY_DIR}/test-results)
ProcessorCount(shards)
math(EXPR shards "2 * ${shards}")  # most tests wait more than they work
if(shards EQUAL 0)
  set(shards 2)
endif()

# GCC 12's AddressSanitizer cannot live with the address randomisation of newer kernels.
set(test_launcher)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_FLAGS MATCHES "-fsanitize=address")
  execute_process(COMMAND setarch -R true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(NOT refused)
    set(test_launcher setarch -R)
  endif()
endif()

# Made once for all shards of a run, which copy them.
set(test_certificates ${PROJECT_BINARY_DIR}/test-certificates)
add_test(NAME certificates CONFIGURATIONS shards
  COMMAND ${CMAKE_COMMAND} -D FOLDER=${test_certificates} -P ${CMAKE_CURRENT_SOURCE_DIR}/support/certificates.cmake)
set_tests_properties(certificates PROPERTIES FIXTURES_SETUP certificates)

# coracle_shards(PROGRAM LABEL [SHARDS COUNT] [THIRD NUMBER] [ENVIRONMENT NAME=VALUE...]): all tests of a program, or the first,
# second or third of every three, for ./dev test. What hangs is asked what its tasks wait for, by SIGUSR1, before it is killed.
function(coracle_shards program label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SHARDS;THIRD" "ENVIRONMENT")
  if(NOT arg_SHARDS)
    set(arg_SHARDS ${shards})
  endif()
  set(first 0)
  set(step 1)
  if(DEFINED arg_THIRD)
    set(first ${arg_THIRD})
    set(step 3)
  endif()
  math(EXPR total "${arg_SHARDS} * ${step}")
  math(EXPR last "${total} - 1")
  math(EXPR ctest_limit_s "${shard_limit_s} + 30")
  foreach(shard RANGE ${first} ${last} ${step})
    set(name ${label}.${program}.${shard})
    add_test(NAME ${name} CONFIGURATIONS shards
      COMMAND timeout --foreground --signal=USR1 --kill-after=5 ${shard_limit_s} ${test_launcher} $<TARGET_FILE:${program}>
              --gtest_output=xml:${test_results}/${name}.xml --gtest_color=no)
    set_tests_properties(${name} PROPERTIES LABELS "shards-${label}" TIMEOUT ${ctest_limit_s} FIXTURES_REQUIRED certificates
      ENVIRONMENT "CORACLE_TEST_CERTIFICATES=${test_certificates};GTEST_TOTAL_SHARDS=${total};GTEST_SHARD_INDEX=${shard};${arg_ENVIRONMENT}")
  endforeach()
endfunction()

# coracle_tests(PROGRAM LABEL [BACKEND NAME]): each test of a program by its name.
function(coracle_tests program label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "BACKEND" "")
  set(more LABELS ${label})
  set(prefix ${label}/)
  if(arg_BACKEND)
    set(more LABELS ${label}-${arg_BACKEND} ENVIRONMENT CORACLE_BACKEND=${arg_BACKEND})
    set(prefix ${label}/${arg_BACKEND}/)
  endif()
  gtest_discover_tests(${program} TEST_PREFIX ${prefix} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 30
    PROPERTIES ${more} TIMEOUT ${test_limit_s})
endfunction()

if(TARGET unit_tests)
  coracle_tests(unit_tests unit)
  coracle_shards(unit_tests unit)
endif()
if(TARGET e2e_tests)
  foreach(backend IN ITEMS io_uring epoll)
    coracle_tests(e2e_tests e2e BACKEND ${backend})
    coracle_shards(e2e_tests e2e-${backend} ENVIRONMENT CORACLE_BACKEND=${backend})
  endforeach()
  coracle_shards(e2e_tests e2e-auto ENVIRONMENT CORACLE_BACKEND=auto)
endif()
if(TARGET footprint_tests)
  coracle_tests(footprint_tests footprint)
  coracle_shards(footprint_tests footprint SHARDS 1)
endif()
if(TARGET out_of_memory_tests)
  coracle_tests(out_of_memory_tests out_of_memory)
  coracle_shards(out_of_memory_tests out_of_memory SHARDS 1)
endif()
if(TARGET sim_swarm)
  file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sim/swarm/*_scenario.cpp)
  foreach(path IN LISTS scenarios)
    get_filename_component(scenario ${path} NAME)
    string(REPLACE _scenario.cpp "" scenario ${scenario})
    add_test(NAME sim/${scenario} COMMAND sim_swarm --scenario ${scenario} --first 1 --seeds 50)
    set_tests_properties(sim/${scenario} PROPERTIES LABELS sim TIMEOUT ${test_limit_s})
  endforeach()
endif()

# Each of io_uring's probes failed on purpose, for every test that may meet it: names of support/uring_faults.cpp. After a refusal
# nothing of io_uring is left, and the library has to choose epoll by itself. What follows is the same for all: every test meets
# the first, a few the others. The label third-without-io_uring is for CI: a third of the end-to-end tests with each fault, another
# third with the next.
if(TARGET unit_tests AND TARGET e2e_tests AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(refusals setup_eperm setup_enosys setup_enomem enter_eperm no_wait_timeout no_cancel_any)
  set(after_any_refusal "ChooseBackend.*:Kernel/*:*unary*:*lifetime*")
  # Those that have nothing to do with each other, together.
  set(lacks smallest_ring tiny_queue no_deferred_work no_buffer_ring no_multishot_receive
    no_registered_ring,no_multishot_poll,no_multishot_accept no_poll_first,no_receive_limit,short_sends)
  # Tests that a fault cannot reach, and those that make io_uring's shapes themselves.
  string(CONCAT beyond_faults "*epoll*:*sim*:*Sim*:H*:MemoryDuplex*:Bytes/MemoryBuffer*:LogDeath*:Seeds/naive*:*/not_deferred:"
    "*/tiny_queue:*/without_*:*/short_sends")
  set(needs_io_uring "Kernel/backend_*:ChooseBackend.Uring*:Exhaustion*")
  set(third 0)
  foreach(fault IN LISTS refusals lacks)
    math(EXPR third "(${third} + 1) % 3")
    set(filter -${beyond_faults})
    set(count ${shards})
    if(fault IN_LIST refusals)
      string(APPEND filter :${needs_io_uring})
      if(NOT fault STREQUAL setup_eperm)
        set(filter ${after_any_refusal}${filter})
        set(count 1)
      endif()
    endif()
    string(REPLACE , + name ${fault})
    foreach(program IN ITEMS unit_tests e2e_tests)
      set(environment CORACLE_BACKEND=auto CORACLE_TEST_URING_FAULTS=${fault} GTEST_FILTER=${filter})
      coracle_shards(${program} without-io_uring.${name} SHARDS ${count} ENVIRONMENT ${environment})
    endforeach()
    coracle_shards(e2e_tests third-without-io_uring.${name} SHARDS ${count} THIRD ${third} ENVIRONMENT ${environment})
  endforeach()
endif()
