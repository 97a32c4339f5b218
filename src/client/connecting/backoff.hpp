// backoff: pauses between attempts to connect (grpc/grpc doc/connection-backoff.md, decision 0009).
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace coracle::client {

inline constexpr duration first_pause = std::chrono::seconds(1);
inline constexpr duration longest_pause = std::chrono::seconds(120);
inline constexpr double pause_growth = 1.6;
inline constexpr double pause_jitter = 0.2;
// The minimum time that an attempt to connect may take.
inline constexpr duration connect_timeout = std::chrono::seconds(20);
// A connection that stays up for this long shows that the server is healthy, whatever the pauses have grown
// to.
inline constexpr duration stable_time = std::chrono::seconds(10);

[[nodiscard]] inline duration scaled(duration d, double by) noexcept {
  return duration(static_cast<duration::rep>(static_cast<double>(d.count()) * by));
}
// `random` adds or takes up to pause_jitter, so that clients that failed together do not retry together.
[[nodiscard]] inline duration jittered(duration d, std::uint64_t random) noexcept {
  const double spread = static_cast<double>(random % 10'001) / 10'000.0 * 2.0 - 1.0;  // -1 .. 1
  return scaled(d, 1.0 + pause_jitter * spread);
}

class backoff {
 public:
  // Returns the pause before the next attempt, counted from the start of the last one.
  duration next(std::uint64_t random) noexcept {
    const duration pause = jittered(current_, random);
    current_ = std::min(scaled(current_, pause_growth), longest_pause);
    return pause;
  }
  // An established connection was lost after `up`. Returns the pause before the next attempt, counted as in
  // next(); with 0 the next attempt may begin at once. A connection that was up for stable_time, or for
  // longer than the pause, resets the backoff. The first shorter one since then has no pause, so that a
  // server that restarts shortly after a client has connected is reached again at once.
  duration lost(duration up, std::uint64_t random) noexcept {
    if (up < stable_time) {
      if (!std::exchange(first_loss_ignored_, true)) return {};
      if (const duration pause = next(random); up < pause) return pause;
    }
    reset();
    return {};
  }
  void reset() noexcept { *this = {}; }

 private:
  duration current_ = first_pause;
  bool first_loss_ignored_ = false;
};

}  // namespace coracle::client
