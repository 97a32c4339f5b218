// call_counts: how many calls have passed through a channel on one loop.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::client {

// The channel's; outlives the calls that began with it. Of its loop alone, so that counting is a plain increment.
struct call_counts {
  std::uint64_t started = 0;
  std::uint64_t succeeded = 0;  // ended with OK
  std::uint64_t failed = 0;
  time_point last_started{};
};

}  // namespace coracle::client
