// allocated: what this thread has taken from the heap so far.
#pragma once

#include <cstdint>

namespace coracle::tools {

struct allocated {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// By operator new, which this program counts in.
[[nodiscard]] allocated allocated_here() noexcept;

}  // namespace coracle::tools
