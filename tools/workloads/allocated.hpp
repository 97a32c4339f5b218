// allocated: counts what this thread has allocated from the heap so far.
#pragma once

#include <cstdint>

namespace coracle::tools {

struct allocated {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Counts operator new, which this program replaces.
[[nodiscard]] allocated allocated_here() noexcept;

}  // namespace coracle::tools
