// The few names of the C library that programs in C++ use.
#pragma once

#include <grpc/compression.h>
#include <grpc/impl/channel_arg_names.h>
#include <grpc/impl/connectivity_state.h>
#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>

/// These have no effect: what the library needs begins with the first channel or server.
inline void grpc_init() {}
inline void grpc_shutdown() {}
inline void grpc_shutdown_blocking() {}
inline int grpc_is_initialized() { return 1; }
/// Returns the version of the library.
const char* grpc_version_string();
