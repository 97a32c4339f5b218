// until() and point_of(): a deadline of this API as a duration and as a time point of Coracle.
#pragma once

#include <grpc/support/time.h>

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>

namespace grpc::internal {

// How long until `t`: forever for the far future.
inline coracle::duration until(gpr_timespec t) {
  const gpr_timespec left = gpr_convert_clock_type(t, GPR_TIMESPAN);
  constexpr std::int64_t most_s = coracle::duration::max().count() / GPR_NS_PER_SEC - 1;
  if (left.tv_sec > most_s) return coracle::duration::max();
  if (left.tv_sec < -most_s) return coracle::duration::min();
  return std::chrono::seconds(left.tv_sec) + coracle::duration(left.tv_nsec);
}

// When `t` comes by the monotonic clock, which the loops have. They count a duration from the beginning of a
// turn: a wait of until(t) may end before `t`.
inline coracle::time_point point_of(gpr_timespec t) {
  const coracle::duration left = until(t);
  const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
  return coracle::deadline_after(
      coracle::time_point(std::chrono::seconds(now.tv_sec) + coracle::duration(now.tv_nsec)), left);
}

}  // namespace grpc::internal
