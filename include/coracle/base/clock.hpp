// The clock's type, without a clock: time points come from an executor's now(), so that a
// simulated loop can hand out virtual time. Nothing outside the runtime's backends reads a clock.
#pragma once

#include <chrono>

namespace coracle {

using duration = std::chrono::nanoseconds;

// A monotonic clock that has no now(); each backend defines where its zero lies. Compare time
// points of one runtime only.
struct loop_clock {
  using rep = coracle::duration::rep;
  using period = coracle::duration::period;
  using duration = coracle::duration;
  using time_point = std::chrono::time_point<loop_clock, coracle::duration>;
  static constexpr bool is_steady = true;
};

using time_point = loop_clock::time_point;

// "No deadline". Every arithmetic on deadlines saturates here, see deadline_after().
inline constexpr time_point never = time_point::max();

// now + d without overflow; a negative d gives a point that has passed.
constexpr time_point deadline_after(time_point now, duration d) noexcept {
  if (d >= never - now) return never;
  return now + d;
}

}  // namespace coracle
