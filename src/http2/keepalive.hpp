// keepalive: asks a silent peer with PINGs whether it still lives (gRFC A8).
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace coracle::http2 {

struct keepalive_options {
  // So long nothing came from the peer: a PING goes out. max: never.
  duration time = duration::max();
  // So long anything at all may take to come after it; then the connection is given up.
  duration timeout = std::chrono::seconds(20);
  // Also while no stream is open.
  bool without_calls = false;
};

// A clock without a timer: says when it wants to be asked, and what is to be done then. To note that bytes came is
// one store; when they came late enough is found out when the time is up.
class keepalive {
 public:
  enum class verdict : std::uint8_t { nothing, ping, dead };

  keepalive(const keepalive_options& o, time_point now) noexcept
      : options_(o), heard_(now), next_(deadline_after(now, o.time)) {}

  void heard(time_point now) noexcept { heard_ = now; }
  // A stream was opened: who slept for want of one looks again.
  void call_begins() noexcept {
    if (asleep_) [[unlikely]]
      wake();
  }
  [[nodiscard]] time_point next() const noexcept { return next_; }
  // An answer to a PING of ours came. False when none was due.
  [[nodiscard]] bool answered() noexcept { return std::exchange(asking_, false); }
  [[nodiscard]] verdict on_time(time_point now, bool calls_open) noexcept;
  [[nodiscard]] std::uint64_t pings() const noexcept { return pings_; }

 private:
  void wake() noexcept;
  keepalive_options options_;
  time_point heard_;
  time_point next_;
  time_point asked_{};
  std::uint64_t pings_ = 0;
  bool asking_ = false;  // a PING is out
  bool asleep_ = false;  // no stream is open, and without one nothing is asked
};

}  // namespace coracle::http2
