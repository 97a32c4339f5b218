// clock: the types of durations and time points, without a clock. Time points come from an executor's now(),
// so that a simulated loop can use virtual time. Only the backends of the runtime read a clock.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <chrono>

namespace coracle {

/// The unit of every timeout and deadline: nanoseconds, signed.
using duration = std::chrono::nanoseconds;

/// The type of a monotonic clock. It has no now(): each backend defines where its zero lies. Compare only
/// time points of the same runtime.
struct loop_clock {
  /// @cond  What the chrono library requires of a clock.
  using rep = coracle::duration::rep;
  using period = coracle::duration::period;
  using duration = coracle::duration;
  using time_point = std::chrono::time_point<loop_clock, coracle::duration>;
  static constexpr bool is_steady = true;
  /// @endcond
};

/// A point in time of a loop's clock.
using time_point = loop_clock::time_point;

/// The time point that means "no deadline". Arithmetic on deadlines saturates here, see deadline_after().
inline constexpr time_point never = time_point::max();

/// Returns now + d without overflow. A negative `d` gives a time point that has passed.
constexpr time_point deadline_after(time_point now, duration d) noexcept {
  if (d >= never - now) return never;
  return now + d;
}

}  // namespace coracle
