// server_snapshot: the state and the counters of a server and its connections, for channelz and operators.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/rpc/connection_snapshot.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace coracle {

namespace runtime_internal {
struct socket_options;  // private: src/runtime/socket_options.hpp
}

/// A listening socket of a server.
class listener_snapshot {
 public:
  /// All zero.
  listener_snapshot() = default;
  std::uint64_t id = 0;  ///< unique in the process; never reused
  net::address local;    ///< where it listens, with the port that the system has chosen
  /// @cond
  // Null, but in a snapshot for channelz that asks for this listener.
  std::shared_ptr<const runtime_internal::socket_options> options;
  /// @endcond
};

/// What a loop of a server admits (server_options::admission, rate_limits). An aggregate.
struct loop_admission {
  std::size_t loop = 0;                  ///< its number
  std::size_t concurrency_limit = 0;     ///< now; 0 without overload protection
  std::size_t calls_limited = 0;         ///< calls that count for `concurrency_limit` now
  std::size_t calls_waiting = 0;         ///< calls that wait to be admitted now
  std::uint64_t rejected_overload = 0;   ///< calls that found no place in time, so far
  std::uint64_t rejected_deadline = 0;   ///< calls that could not end before their deadline, so far
  std::uint64_t rejected_rate = 0;       ///< calls above a rate limit, so far
};
static_assert(std::is_trivially_destructible_v<loop_admission>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// What a server has done so far; see server::snapshot().
class server_snapshot {
 public:
  /// All zero.
  server_snapshot() = default;
  std::uint64_t calls_started = 0;               ///< calls that reached a method, so far
  std::uint64_t calls_succeeded = 0;             ///< ended with OK
  std::uint64_t calls_failed = 0;                ///< ended otherwise
  wall_time last_call_started{};                 ///< when the last call began
  /// Calls that overload protection and rate limits have rejected (server_options::admission, rate_limits),
  /// so far.
  std::uint64_t calls_rejected = 0;
  std::size_t calls_limited = 0;  ///< calls that count for `concurrency_limit` now
  std::size_t calls_waiting = 0;  ///< calls that wait to be admitted now
  std::size_t concurrency_limit = 0;  ///< of all loops together now; 0 without overload protection
  /// The same by loop; empty without overload protection and rate limits, and before the first connection.
  std::vector<loop_admission> admission;
  std::vector<listener_snapshot> listeners;  ///< the listening sockets
  std::vector<connection_snapshot> connections;  ///< the open connections, ordered by id
};
static_assert(!std::is_aggregate_v<server_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
