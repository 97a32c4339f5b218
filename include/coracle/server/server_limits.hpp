// server_limits: how much of a server its clients may have at once. docs/reference/limits.md has all limits.
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

// The defaults are for a service that faces strangers.
class server_limits {
 public:
  server_limits() noexcept {}

  // What all connections together may hold because of their peers. Default, for each server: 1 GiB, or half of the memory
  // that the system lets the process use, if that is less: of the tightest of memory.max and memory.high (cgroup v2),
  // memory.limit_in_bytes (cgroup v1), of the process's cgroup and those above it, and RLIMIT_AS. The server logs the default
  // that it chooses and the reason at level info. In a simulation it is 1 GiB.
  server_limits& memory(memory_quota q) { return memory_ = std::move(q), *this; }
  // Connections at once; one more is closed as it comes. Default 50,000.
  server_limits& connections(std::size_t n) noexcept { return connections_ = n, *this; }
  // Calls of one connection at once; one more is REFUSED_STREAM, and gRPC clients wait for a place or try
  // again. Default 1,000.
  server_limits& streams(std::uint32_t n) noexcept { return streams_ = n, *this; }
  // Calls at once, on whichever loops, handlers that run on behind ended calls among them. One more is answered
  // UNAVAILABLE before it reaches a handler: who may, tries another server, by its retry policy. Default: no limit but
  // those of memory and streams.
  server_limits& calls(std::size_t n) noexcept { return calls_ = n, *this; }
  // The longest that a call may take, whatever deadline its client has set; DEADLINE_EXCEEDED. Default: no limit.
  server_limits& call_time(duration d) noexcept { return call_time_ = d, *this; }
  // The metadata of one call, each field counted with 32 bytes on top (RFC 9113 6.5.2). Beyond: RESOURCE_EXHAUSTED.
  // Default 16 KiB.
  server_limits& header_list_bytes(std::uint32_t n) noexcept { return header_list_bytes_ = n, *this; }
  // From accepting a connection until its client has said hello (TLS, preface, SETTINGS and their acknowledgement); and
  // from the first byte of a request's headers to their last. Default 20 s.
  server_limits& handshake_time(duration d) noexcept { return handshake_time_ = d, *this; }
  // Bytes of finished replies that a client has given no window for. Above it new calls of its connection
  // wait with their handlers, their requests as they came: neither decompressed nor decoded. Default 4 MiB.
  server_limits& unread_bytes(std::size_t n) noexcept { return unread_bytes_ = n, *this; }
  // A connection above unread_bytes() of which no reply's byte could leave for so long, or whose socket takes
  // nothing for so long, is closed, and one that holds so long what puts the memory quota under pressure. A call ends
  // (RESOURCE_EXHAUSTED) whose handler waits for a message that has begun, and of which less than 256 bytes a second
  // come for so long. Default 60 s.
  server_limits& stall_time(duration d) noexcept { return stall_time_ = d, *this; }

  // Empty: the default.
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
