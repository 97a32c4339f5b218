// host_state: a host as the simulated network sees it.
#pragma once

#include "coracle/base/clock.hpp"
#include "runtime/backend.hpp"
#include "runtime/sim/endpoint.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace coracle::sim {

// Belongs to the network, and stays when the host crashes.
struct host_state {
  static constexpr std::uint16_t first_port = 32768;
  std::uint16_t take_port() noexcept {
    const std::uint16_t port = next_port++;
    if (next_port == 0) next_port = first_port;
    return port;
  }
  std::string name;
  std::uint64_t index = 0;
  endpoint ip;  // port 0
  std::map<runtime_internal::handle, std::uint64_t> handles;
  std::multimap<endpoint, std::uint64_t> listeners;
  std::multimap<endpoint, std::uint64_t> datagram_sockets;
  runtime_internal::handle next_handle = 3;
  std::uint16_t next_port = first_port;  // of those that nobody asked for by number
  bool down = false;
  std::uint64_t crashes = 0;
  duration clock_shift{};  // of its wall clock
};

}  // namespace coracle::sim
