// failing_host: allocations fail on one host of a simulated world.
#pragma once

#include "out_of_memory/failing_allocations.hpp"

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"

#include <cstdint>

namespace coracle::test {

// The host whose allocations fail.
inline const runtime* failing_host = nullptr;

inline bool on_the_failing_host() {
  const loop* const here = loop::current();
  return here && &here->owner() == failing_host;
}

inline failing_options options_for(std::uint64_t burst, std::uint64_t stride) {
  failing_options o;
  o.counts = on_the_failing_host;
  o.burst = burst;
  o.stride = stride;
  return o;
}

}  // namespace coracle::test
