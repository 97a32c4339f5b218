// until(): a deadline of this API as a duration of Coracle.
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

}  // namespace grpc::internal
