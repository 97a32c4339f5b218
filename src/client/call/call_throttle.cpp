#include "client/call/call_throttle.hpp"

#include <algorithm>

namespace coracle::client {

call_throttle::counts& call_throttle::of(time_point now) noexcept {
  // The time may be that of an earlier turn of the loop.
  const std::int64_t part = std::max<std::int64_t>(latest_, now.time_since_epoch() / (window / parts));
  const std::int64_t passed = std::min<std::int64_t>(part - latest_, parts);
  for (std::int64_t i = 0; i < passed; ++i) {
    counts& old = parts_[static_cast<std::size_t>(part - i) % parts];
    all_.requests -= old.requests;
    all_.accepted -= old.accepted;
    old = {};
  }
  latest_ = part;
  return parts_[static_cast<std::size_t>(part) % parts];
}

void call_throttle::count(time_point now, bool accepted) noexcept {
  counts& here = of(now);
  ++here.requests;
  ++all_.requests;
  here.accepted += accepted;
  all_.accepted += accepted;
}

bool call_throttle::admits(time_point now, std::uint64_t random) noexcept {
  counts& here = of(now);
  if (all_.requests <= ratio * all_.accepted) [[likely]]
    return true;
  const double excess = static_cast<double>(all_.requests - ratio * all_.accepted);
  const double draw = static_cast<double>(random >> 11) * 0x1p-53;  // 0 to 1, without 1
  if (draw * static_cast<double>(all_.requests + padding) >= excess) return true;
  ++here.requests;
  ++all_.requests;
  return false;
}

}  // namespace coracle::client
