// The cases of gRPC's interop description, except those that need a cloud. Each throws its failure.
#pragma once

#include "session.hpp"

#include <coracle/coro/task.hpp>

namespace interop {

// basic_cases.cpp
coracle::task<> empty_unary(session& at);
coracle::task<> cacheable_unary(session& at);
coracle::task<> uncached_unary(session& at);
coracle::task<> large_unary(session& at);
coracle::task<> client_streaming(session& at);
coracle::task<> server_streaming(session& at);
coracle::task<> ping_pong(session& at);
coracle::task<> empty_stream(session& at);
coracle::task<> timeout_on_sleeping_server(session& at);
coracle::task<> cancel_after_begin(session& at);
coracle::task<> cancel_after_first_response(session& at);
coracle::task<> status_code_and_message(session& at);
coracle::task<> special_status_message(session& at);
coracle::task<> custom_metadata(session& at);
coracle::task<> unimplemented_method(session& at);
coracle::task<> unimplemented_service(session& at);

// compression_cases.cpp
coracle::task<> client_compressed_unary(session& at);
coracle::task<> server_compressed_unary(session& at);
coracle::task<> client_compressed_streaming(session& at);
coracle::task<> server_compressed_streaming(session& at);

// soak_cases.cpp
coracle::task<> rpc_soak(session& at);
coracle::task<> channel_soak(session& at);
coracle::task<> long_lived_channel(session& at);
coracle::task<> very_large_request(session& at);

// orca_cases.cpp
coracle::task<> orca_per_rpc(session& at);
coracle::task<> orca_oob(session& at);

}  // namespace interop
