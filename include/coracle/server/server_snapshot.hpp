// server_snapshot: what a server and its connections have done so far, for channelz and for operators.
#pragma once

#include "coracle/net/address.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace coracle {

// Zero where nothing of the kind has happened yet.
using wall_time = std::chrono::system_clock::time_point;

// One connection (a "socket" in channelz). Numbers since it was accepted.
class connection_snapshot {
 public:
  connection_snapshot() = default;
  std::uint64_t id = 0;  // among the server's own; never given twice
  net::address local;    // none in memory
  net::address peer;
  bool secure = false;
  std::uint64_t streams_started = 0;
  std::uint64_t streams_succeeded = 0;  // those whose end was sent
  std::uint64_t streams_failed = 0;
  std::uint64_t streams_open = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t keepalives_sent = 0;
  wall_time last_stream_started{};
  wall_time last_message_sent{};
  wall_time last_message_received{};
  std::int64_t send_window_bytes = 0;     // what the client lets the connection send at the moment
  std::int64_t receive_window_bytes = 0;  // what the client may send
};

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
static_assert(!std::is_aggregate_v<connection_snapshot> && !std::is_aggregate_v<server_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
