#include "base/heap.hpp"

#include <cstddef>

// Only glibc has it.
extern "C" [[gnu::weak]] int malloc_trim(std::size_t pad) noexcept;

namespace coracle::base {

void give_back_heap() noexcept {
  if (malloc_trim) malloc_trim(0);
}

}  // namespace coracle::base
