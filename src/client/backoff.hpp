// backoff: pauses between attempts to connect (grpc/grpc doc/connection-backoff.md).
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace coracle::client {

inline constexpr duration first_pause = std::chrono::seconds(1);
inline constexpr duration longest_pause = std::chrono::seconds(120);
inline constexpr double pause_growth = 1.6;
inline constexpr double pause_jitter = 0.2;
// An attempt gets at least so long.
inline constexpr duration connect_timeout = std::chrono::seconds(20);

class backoff {
 public:
  // The pause before the next attempt, counted from the start of the last; `random` spreads clients that
  // failed together.
  duration next(std::uint64_t random) noexcept {
    const double spread = static_cast<double>(random % 10'001) / 10'000.0 * 2.0 - 1.0;  // -1 .. 1
    const duration pause = scaled(current_, 1.0 + pause_jitter * spread);
    current_ = std::min(scaled(current_, pause_growth), longest_pause);
    return pause;
  }
  // The peer's SETTINGS have arrived: it speaks HTTP/2.
  void reset() noexcept { current_ = first_pause; }

 private:
  static duration scaled(duration d, double by) noexcept {
    return duration(static_cast<duration::rep>(static_cast<double>(d.count()) * by));
  }
  duration current_ = first_pause;
};

}  // namespace coracle::client
