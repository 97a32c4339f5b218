// socket_options: what the kernel tells about a socket, for channelz.
#pragma once

#include "coracle/base/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace coracle::runtime_internal {

// The values of getsockopt(2). An option that the socket does not have is absent; all are absent in a
// simulation.
struct socket_options {
  struct linger_option {
    bool active = false;
    duration time{};
  };
  // The numbers at the beginning of the kernel's struct tcp_info, from tcpi_state to tcpi_reordering: those
  // that channelz has a field for, in the order of its fields.
  static constexpr std::size_t tcp_info_numbers = 29;

  std::optional<linger_option> linger;  // SO_LINGER
  std::optional<duration> receive_timeout;  // SO_RCVTIMEO; 0: none
  std::optional<duration> send_timeout;  // SO_SNDTIMEO; 0: none
  std::optional<int> receive_buffer_bytes;  // SO_RCVBUF
  std::optional<int> send_buffer_bytes;  // SO_SNDBUF
  std::optional<int> no_delay;  // TCP_NODELAY
  std::optional<int> unacknowledged_limit_ms;  // TCP_USER_TIMEOUT; 0: the kernel's default
  std::optional<std::array<std::uint32_t, tcp_info_numbers>> tcp_info;  // TCP_INFO
};

}  // namespace coracle::runtime_internal
