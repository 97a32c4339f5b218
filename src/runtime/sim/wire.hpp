// wire: one direction of a simulated connection, and what is on its way there.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>
#include <deque>

namespace coracle::sim {

struct host_state;

// What a packet brings. A probe brings nothing: it asks whether anybody is there, as TCP does at a closed window.
enum class packet_kind : std::uint8_t { established, bytes, end, reset, probe };

struct packet {
  packet_kind what;
  std::uint64_t amount;  // of bytes
  time_point when;  // arrives
};

// Belongs to the network, which knows it by its sender's socket. It outlives that socket until its last packet has
// arrived or was given up.
struct wire {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  host_state* from_host = nullptr;
  host_state* to_host = nullptr;
  duration latency{};
  std::deque<packet> on_way;  // in the order they arrive
  std::uint64_t bytes_on_way = 0;
  bool silent = false;  // nothing will pass any more
  bool stalled = false;  // the front could not pass; it waits to be sent again
  std::uint64_t stalls = 0;  // which stall it is
  bool sender_gone = false;
};

}  // namespace coracle::sim
