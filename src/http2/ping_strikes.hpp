// ping_strikes: enforces a minimum interval between the peer's PINGs (gRFC A8, A9).
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>

namespace coracle::http2 {

struct ping_rules {
  // The minimum interval between two PINGs while we send nothing. 0: PINGs are only bounded like other
  // control frames.
  duration min_interval = duration::zero();
  // Whether min_interval also applies while no stream is open; otherwise the interval is then two hours.
  bool without_calls = false;
  // The number of early PINGs that are tolerated; the next one is a violation.
  std::uint32_t strikes = 2;
};

class ping_strikes {
 public:
  // Call when HEADERS or DATA are sent: the peer may then measure how long they take.
  void forgive() noexcept { forgiven_ = true; }
  // Call when a PING arrives. Returns false if it exceeds the permitted strikes.
  [[nodiscard]] bool take(const ping_rules& rules, time_point now, bool calls_open) noexcept {
    if (rules.min_interval <= duration::zero()) return true;
    const bool first = last_ == time_point::min();
    const time_point before = last_;
    last_ = now;
    if (forgiven_ || first) {
      forgiven_ = false;
      strikes_ = 0;
      return true;
    }
    const duration interval = calls_open || rules.without_calls ? rules.min_interval : interval_without_calls;
    if (now - before >= interval) return true;
    return ++strikes_ <= rules.strikes;
  }

 private:
  static constexpr duration interval_without_calls = std::chrono::hours(2);
  time_point last_ = time_point::min();
  std::uint32_t strikes_ = 0;
  bool forgiven_ = false;
};

}  // namespace coracle::http2
