// server_snapshot: what a server and its connections have done so far, for channelz and for operators.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/rpc/connection_snapshot.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace coracle {

// A listening socket.
class listener_snapshot {
 public:
  listener_snapshot() = default;
  std::uint64_t id = 0;  // among connections and listeners
  net::address local;
};

class server_snapshot {
 public:
  server_snapshot() = default;
  std::uint64_t calls_started = 0;
  std::uint64_t calls_succeeded = 0;  // ended with OK
  std::uint64_t calls_failed = 0;
  wall_time last_call_started{};
  std::vector<listener_snapshot> listeners;
  std::vector<connection_snapshot> connections;  // by id
};
static_assert(!std::is_aggregate_v<server_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
