// ping_strikes: counts the PINGs of a peer that asks more often than it may (gRFC A8, A9).
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>

namespace coracle::http2 {

struct ping_rules {
  // Between two PINGs with nothing sent by us between. 0: PINGs are only bounded as other control frames are.
  duration min_interval = duration::zero();
  // While no stream is open min_interval holds, too; else two hours do.
  bool without_calls = false;
  // So many too early are borne; one more is one too many.
  std::uint32_t strikes = 2;
};

class ping_strikes {
 public:
  // HEADERS or DATA went out: the peer may well ask how long they took.
  void forgive() noexcept { forgiven_ = true; }
  // A PING came. False when it is one too many.
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
