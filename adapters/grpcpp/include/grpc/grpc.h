// The few names of the C library that programs in C++ use.
#pragma once

#include <grpc/compression.h>
#include <grpc/impl/channel_arg_names.h>
#include <grpc/impl/connectivity_state.h>
#include <grpc/slice.h>
#include <grpc/status.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>

/// The limits of messages in bytes, unless an argument sets others.
#define GRPC_DEFAULT_MAX_SEND_MESSAGE_LENGTH (-1)
#define GRPC_DEFAULT_MAX_RECV_MESSAGE_LENGTH (4 * 1024 * 1024)
/// The bits of WriteOptions::flags().
#define GRPC_WRITE_BUFFER_HINT 1U
#define GRPC_WRITE_NO_COMPRESS 2U
#define GRPC_WRITE_THROUGH 4U
#define GRPC_WRITE_USED_MASK (GRPC_WRITE_BUFFER_HINT | GRPC_WRITE_NO_COMPRESS | GRPC_WRITE_THROUGH)

/// These have no effect: what the library needs begins with the first channel or server.
inline void grpc_init() {}
inline void grpc_shutdown() {}
inline void grpc_shutdown_blocking() {}
inline int grpc_is_initialized() { return 1; }
/// Returns the version of the library.
const char* grpc_version_string();
