// server_limits: what clients may use of a server concurrently. docs/reference/limits.md lists all limits.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace coracle {

/// Limits what clients may use of a server: `options.limits = {.calls = 2'000}`. The defaults suit a
/// service that is exposed to untrusted clients. The memory limit is server_options::memory.
struct server_limits {
  /// Maximum open connections. Further connections are closed when they are accepted.
  std::size_t connections = 50'000;
  /// Maximum concurrent calls of one connection. Further calls get REFUSED_STREAM, and gRPC clients wait for
  /// a free stream or retry.
  std::uint32_t streams = 1'000;
  /// Maximum concurrent calls across all loops, orphaned calls whose handlers still run included. Further
  /// calls end with UNAVAILABLE before they reach a handler, so that clients may retry on another server by
  /// their retry policy. Default: no limit but those of server_options::memory and streams.
  std::size_t calls = static_cast<std::size_t>(-1);
  /// Maximum duration of a call, whatever deadline its client sets; the call then ends with
  /// DEADLINE_EXCEEDED. Default: no limit.
  duration call_time = duration::max();
  /// Maximum size of the metadata of one call, with 32 bytes added for each field (RFC 9113 6.5.2). A call
  /// that exceeds it ends with RESOURCE_EXHAUSTED.
  std::uint32_t header_list_bytes = 16u << 10;
  /// Maximum time from accepting a connection until its client has completed the handshake (TLS, preface,
  /// SETTINGS and their acknowledgement), and from the first byte of the request headers to the last.
  duration handshake_time = std::chrono::seconds(20);
  /// Maximum bytes of finished replies for which a client has given no flow-control window. Above it, new
  /// calls of the connection wait before their handlers start, and their requests stay as they arrived,
  /// neither decompressed nor decoded.
  std::size_t unread_bytes = std::size_t{4} << 20;
  /// How long a peer may make no progress.
  ///
  /// The server closes a connection that for this time is above unread_bytes without sending any byte of a
  /// reply, whose socket accepts nothing, or that holds the memory that puts the quota under pressure. It
  /// ends a call with RESOURCE_EXHAUSTED if its handler waits for a message of which less than 256 bytes a
  /// second arrive for this time; a message counts from its first byte.
  duration stall_time = std::chrono::seconds(60);
};
static_assert(std::is_trivially_destructible_v<server_limits>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
