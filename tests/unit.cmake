# unit_tests: tests/unit/<room>/*_test.cpp of all rooms, or of those in CORACLE_TEST_ROOMS. It links the
# objects of these rooms and of the rooms below them rather than the library: private types are tested too,
# and a broken room further up does not get in the way.

set(rooms ${CORACLE_TEST_ROOMS})
if(NOT rooms)
  set(rooms ${coracle_rooms})
endif()

set(sources)
foreach(room IN LISTS rooms)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${room}/*_test.cpp)
  list(APPEND sources ${found})
endforeach()

# What the program coracle computes: of its sources those that need no other library than the tests.
if(NOT CORACLE_TEST_ROOMS)
  file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/tools/*_test.cpp)
  list(APPEND found ${PROJECT_SOURCE_DIR}/tools/units.cpp ${PROJECT_SOURCE_DIR}/tools/format/json_splitter.cpp)
  foreach(name IN ITEMS chaos/fault chaos/fault_plan chaos/frame_cutter chaos/impostor chaos/relay chaos/tls_record
      certs/certificate certs/host_names certs/openssl)
    list(APPEND found ${PROJECT_SOURCE_DIR}/tools/${name}.cpp)
  endforeach()
  foreach(name IN ITEMS arrivals expectation fixed_requests http_url latency_histogram method_mix quantities
      results scenario load_stats)
    list(APPEND found ${PROJECT_SOURCE_DIR}/tools/load/${name}.cpp)
  endforeach()
  list(APPEND sources ${found})
endif()

# Those that read files have a target of their own for the path: among all flags it would keep ccache from knowing a test of another
# checkout again, and as a property of sources it would have them compiled one by one.
set(with_files ${sources})
list(FILTER with_files INCLUDE REGEX "/tests/unit/(tls/|xds/xds_(tls|server)_test|hpack/rfc_examples_test|telemetry/instruments_test)")
if(with_files)
  list(REMOVE_ITEM sources ${with_files})
endif()

# All but their sources. A unit of its own needs no precompiled header.
function(unit_tests_target target)
  compile_together(${target} 24)
  target_compile_options(${target} PRIVATE ${quickly_compiled})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  coracle_rooms_with_all_below(linked ${rooms})
  list(TRANSFORM linked PREPEND coracle_)
  target_link_libraries(${target} PRIVATE
    ${linked} coracle_usage coracle_build GTest::gmock GTest::gtest_main Threads::Threads)
endfunction()

if(sources)
  if(http1 IN_LIST rooms OR http2 IN_LIST rooms OR client IN_LIST rooms OR server IN_LIST rooms)
    list(APPEND sources support/allocation_counter.cpp)
  endif()
  if(runtime IN_LIST rooms OR net IN_LIST rooms OR naming IN_LIST rooms)
    list(APPEND sources support/uring_faults.cpp)
  endif()
  add_executable(unit_tests ${sources})
  unit_tests_target(unit_tests)
  target_precompile_headers(unit_tests PRIVATE support/precompiled.hpp)
  if(NOT CORACLE_TEST_ROOMS)
    target_include_directories(unit_tests PRIVATE ${PROJECT_SOURCE_DIR})  # tools/
  endif()
  if(with_files)
    add_library(unit_tests_with_files OBJECT ${with_files})
    unit_tests_target(unit_tests_with_files)
    target_compile_definitions(unit_tests_with_files PRIVATE CORACLE_TESTS_DIR="${PROJECT_SOURCE_DIR}/tests")
    target_sources(unit_tests PRIVATE $<TARGET_OBJECTS:unit_tests_with_files>)
    only_by_request(unit_tests_with_files)
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/base/version_test.cpp PROPERTIES
    COMPILE_DEFINITIONS CORACLE_PROJECT_VERSION="${PROJECT_VERSION}${coracle_version_suffix}")
  if(telemetry IN_LIST rooms)
    # UBSan asks objects for their types.
    set(without_rtti -fno-rtti)
    if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
      set(without_rtti -DCORACLE_TEST_HAS_RTTI)
    endif()
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/telemetry/without_rtti_test.cpp PROPERTIES
      COMPILE_OPTIONS ${without_rtti} SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(base IN_LIST rooms)
    # As a program of C++23 that links a library of C++20; c++2b is the name that all supported compilers know.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/base/newer_standard_test.cpp PROPERTIES
      COMPILE_OPTIONS -std=c++2b SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(coracle_optimised AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # What g++ makes of a coroutine's transfers is to be seen as in users' programs, without the stack that -O0 takes.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/unit/coro/async_generator_test.cpp PROPERTIES
      COMPILE_OPTIONS -O1 SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  endif()
  if(rpc IN_LIST rooms)
    # Without TARGET, which links the whole library.
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated/unit_tests)
    coracle_generate(PROTOS footprints.proto footprints_lite.proto footprints_proto2.proto rest_kinds.proto
      google/api/annotations.proto google/api/http.proto google/api/httpbody.proto OUT_VAR made OUT_DIR ${folder}
      IMPORT_DIRS ${PROJECT_SOURCE_DIR}/tests/unit/rpc)
    target_sources(unit_tests PRIVATE ${made})
    target_include_directories(unit_tests SYSTEM PRIVATE ${folder})
  endif()
  if(xds IN_LIST rooms)
    # For envoy_protos_test.cpp.
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated/unit_tests_envoy)
    coracle_generate(PROTOS envoy/config/cluster/v3/cluster.proto OUT_VAR made OUT_DIR ${folder}
      IMPORT_DIRS ${PROJECT_SOURCE_DIR}/tests/unit/xds)
    target_sources(unit_tests PRIVATE ${made})
    target_include_directories(unit_tests SYSTEM PRIVATE ${folder})
  endif()
  add_dependencies(test_programs unit_tests)
  only_by_request(unit_tests)
endif()
