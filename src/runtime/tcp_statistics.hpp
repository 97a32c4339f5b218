// tcp_statistics: what the kernel has counted of a TCP connection.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>
#include <optional>

namespace coracle::runtime_internal {

struct tcp_statistics {
  std::optional<duration> min_rtt;             // none: not measured yet
  std::optional<std::uint64_t> delivery_rate;  // bytes a second; none: the program has not sent enough for it
  std::uint64_t packets_sent = 0;  // with data
  std::uint64_t packets_retransmitted = 0;
  std::uint64_t packets_retransmitted_spuriously = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_retransmitted = 0;
  std::uint32_t retransmits = 0;  // of the latest packet that is not acknowledged
};

}  // namespace coracle::runtime_internal
