// server_limits: what clients may use of a server concurrently. docs/reference/limits.md lists all limits.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/server/memory_quota.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

/// Limits what clients may use of a server. The defaults suit a service that is exposed to untrusted clients.
class server_limits {
 public:
  server_limits() noexcept {}

  /// The memory that all connections together may hold because of their peers.
  ///
  /// Default, for each server: 1 GiB, or half of the memory that the system lets the process use, if that is
  /// less. The system's limit is the lowest of memory.max and memory.high (cgroup v2) and
  /// memory.limit_in_bytes (cgroup v1) of the process's cgroup and those above it, and RLIMIT_AS. The server
  /// logs the default that it chooses and the reason at level info. In a simulation the default is 1 GiB.
  server_limits& memory(memory_quota q) { return memory_ = std::move(q), *this; }
  /// Maximum open connections. Further connections are closed when they are accepted. Default 50,000.
  server_limits& connections(std::size_t n) noexcept { return connections_ = n, *this; }
  /// Maximum concurrent calls of one connection. Further calls get REFUSED_STREAM, and gRPC clients wait for
  /// a free stream or retry. Default 1,000.
  server_limits& streams(std::uint32_t n) noexcept { return streams_ = n, *this; }
  /// Maximum concurrent calls across all loops, orphaned calls whose handlers still run included. Further
  /// calls end with UNAVAILABLE before they reach a handler, so that clients may retry on another server by
  /// their retry policy. Default: no limit but those of memory() and streams().
  server_limits& calls(std::size_t n) noexcept { return calls_ = n, *this; }
  /// Maximum duration of a call, whatever deadline its client sets; the call then ends with
  /// DEADLINE_EXCEEDED. Default: no limit.
  server_limits& call_time(duration d) noexcept { return call_time_ = d, *this; }
  /// Maximum size of the metadata of one call, with 32 bytes added for each field (RFC 9113 6.5.2). A call
  /// that exceeds it ends with RESOURCE_EXHAUSTED. Default 16 KiB.
  server_limits& header_list_bytes(std::uint32_t n) noexcept { return header_list_bytes_ = n, *this; }
  /// Maximum time from accepting a connection until its client has completed the handshake (TLS, preface,
  /// SETTINGS and their acknowledgement), and from the first byte of the request headers to the last. Default
  /// 20 s.
  server_limits& handshake_time(duration d) noexcept { return handshake_time_ = d, *this; }
  /// Maximum bytes of finished replies for which a client has given no flow-control window. Above it, new
  /// calls of the connection wait before their handlers start, and their requests stay as they arrived,
  /// neither decompressed nor decoded. Default 4 MiB.
  server_limits& unread_bytes(std::size_t n) noexcept { return unread_bytes_ = n, *this; }
  /// How long a peer may make no progress. Default 60 s.
  ///
  /// The server closes a connection that for this time is above unread_bytes() without sending any byte of a
  /// reply, whose socket accepts nothing, or that holds the memory that puts the quota under pressure. It
  /// ends a call with RESOURCE_EXHAUSTED if its handler waits for a message of which less than 256 bytes a
  /// second arrive for this time; a message counts from its first byte.
  server_limits& stall_time(duration d) noexcept { return stall_time_ = d, *this; }

  /// The quota that was set; empty for the default.
  [[nodiscard]] const std::optional<memory_quota>& memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_; }
  [[nodiscard]] std::uint32_t streams() const noexcept { return streams_; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] duration call_time() const noexcept { return call_time_; }
  [[nodiscard]] std::uint32_t header_list_bytes() const noexcept { return header_list_bytes_; }
  [[nodiscard]] duration handshake_time() const noexcept { return handshake_time_; }
  [[nodiscard]] std::size_t unread_bytes() const noexcept { return unread_bytes_; }
  [[nodiscard]] duration stall_time() const noexcept { return stall_time_; }

 private:
  std::optional<memory_quota> memory_;
  std::size_t connections_ = 50'000;
  std::size_t calls_ = static_cast<std::size_t>(-1);
  std::size_t unread_bytes_ = std::size_t{4} << 20;
  duration call_time_ = duration::max();
  duration handshake_time_ = std::chrono::seconds(20);
  duration stall_time_ = std::chrono::seconds(60);
  std::uint32_t streams_ = 1000;
  std::uint32_t header_list_bytes_ = 16u << 10;
};
static_assert(!std::is_aggregate_v<server_limits>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
