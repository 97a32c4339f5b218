// server_snapshot: the state and the counters of a server and its connections, for channelz and operators.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/rpc/connection_snapshot.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace coracle {

/// A listening socket of a server.
class listener_snapshot {
 public:
  /// All zero.
  listener_snapshot() = default;
  std::uint64_t id = 0;  ///< unique among connections and listeners
  net::address local;    ///< where it listens, with the port that the system has chosen
};

/// What a server has done so far; see server::snapshot().
class server_snapshot {
 public:
  /// All zero.
  server_snapshot() = default;
  std::uint64_t calls_started = 0;               ///< calls that reached a method, so far
  std::uint64_t calls_succeeded = 0;             ///< ended with OK
  std::uint64_t calls_failed = 0;                ///< ended otherwise
  wall_time last_call_started{};                 ///< when the last call began
  std::vector<listener_snapshot> listeners;      ///< the listening sockets
  std::vector<connection_snapshot> connections;  ///< the open connections, ordered by id
};
static_assert(!std::is_aggregate_v<server_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
