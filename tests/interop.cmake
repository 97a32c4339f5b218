# Programs of tests/interop.

# hpack_tool, for hpack_cross_check_test.py. It links objects: HPACK is private.

add_executable(hpack_tool interop/hpack_tool.cpp)
coracle_rooms_with_all_below(linked hpack)
list(TRANSFORM linked PREPEND coracle_)
target_link_libraries(hpack_tool PRIVATE ${linked} coracle_usage coracle_build Threads::Threads)

# http1_tool, for http1_differential_test.py, likewise.
add_executable(http1_tool interop/http1_tool.cpp)
coracle_rooms_with_all_below(linked http1)
list(TRANSFORM linked PREPEND coracle_)
target_link_libraries(http1_tool PRIVATE ${linked} coracle_usage coracle_build Threads::Threads)

# abuse_server, for tests/interop/abuse_test.py.
add_executable(abuse_server interop/abuse_server.cpp)
target_link_libraries(abuse_server PRIVATE echo_of_tests coracle::tls coracle_build Threads::Threads)

# restart_pair, for tests/interop/restarts_test.py.
add_executable(restart_pair interop/restart_pair.cpp)
target_link_libraries(restart_pair PRIVATE echo_of_tests coracle::coracle coracle_build Threads::Threads)

# handover_pair, for tests/interop: handover_test.py and descriptor_store_test.py; and ./dev upgrades.
add_executable(handover_pair interop/handover_pair.cpp)
target_link_libraries(handover_pair PRIVATE echo_of_tests coracle::tls coracle_build Threads::Threads)

# openapi_tool, for tests/interop/openapi_test.py.
add_executable(openapi_tool interop/openapi_tool.cpp)
target_link_libraries(openapi_tool PRIVATE coracle::coracle coracle_build protobuf::libprotobuf Threads::Threads)

# web_server, for tests/interop: browser_test.py, console_test.py, openapi_client_test.py; and tests/tools/protocols_test.py.
add_executable(web_server interop/web_server.cpp)
coracle_generate(TARGET web_server PROTOS movie.proto counts.proto
  IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/02_movie ${CMAKE_CURRENT_SOURCE_DIR}/interop)
target_link_libraries(web_server PRIVATE coracle::console coracle::tls coracle_build Threads::Threads)

# observed_server, for tests/interop/operator_test.py.
add_executable(observed_server interop/observed_server.cpp)
target_include_directories(observed_server PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(observed_server PRIVATE echo_of_tests coracle::telemetry coracle_build Threads::Threads)

# otlp_server, for tests/interop/otlp_test.py.
add_executable(otlp_server interop/otlp_server.cpp)
target_link_libraries(otlp_server PRIVATE echo_of_tests coracle::telemetry coracle::tls coracle_build Threads::Threads)

# exposition_tool, for prometheus_test.py. It links objects: the texts are made by private functions.
add_executable(exposition_tool interop/exposition_tool.cpp)
coracle_rooms_with_all_below(linked telemetry tls)
list(TRANSFORM linked PREPEND coracle_)
target_include_directories(exposition_tool PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(exposition_tool PRIVATE ${linked} coracle_usage coracle_build Threads::Threads)

# observed_pair, for prometheus_test.py.
add_executable(observed_pair interop/observed_pair.cpp)
coracle_generate(TARGET observed_pair PROTOS movie.proto IMPORT_DIRS ${PROJECT_SOURCE_DIR}/examples/02_movie)
target_link_libraries(observed_pair PRIVATE coracle::telemetry coracle_build Threads::Threads)

# metrics_peer, for tests/interop/slow/plugin_comparison_test.py.
add_executable(metrics_peer interop/metrics_peer.cpp)
target_link_libraries(metrics_peer PRIVATE interop_protos coracle::telemetry coracle_build Threads::Threads)

# pages_server, for tests/interop/operator_pages_test.py.
add_executable(pages_server interop/pages_server.cpp)
target_include_directories(pages_server PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(pages_server PRIVATE echo_of_tests coracle::telemetry coracle::tls coracle_build Threads::Threads)

# balancing_client, for tests/interop/balancing_test.py.
add_executable(balancing_client interop/balancing_client.cpp)
target_link_libraries(balancing_client PRIVATE coracle::coracle coracle_build)

# named_client, for naming_test.py.
add_executable(named_client interop/named_client.cpp)
target_link_libraries(named_client PRIVATE echo_of_tests coracle::naming coracle::tls coracle_build Threads::Threads)

# xds_peer, for xds_test.py.
if(CORACLE_BUILD_XDS)
  add_executable(xds_peer interop/xds_peer.cpp)
  target_link_libraries(xds_peer PRIVATE coracle::xds coracle_build)
endif()

precompile_headers_of_program(restart_pair handover_pair abuse_server openapi_tool web_server observed_server otlp_server observed_pair metrics_peer pages_server
  balancing_client named_client)
if(CORACLE_BUILD_XDS)
  precompile_headers_of_program(xds_peer)
endif()
