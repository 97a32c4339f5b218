// pooled: a base class for objects with the lifetime of a call or an operation.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"

#include <cstddef>

namespace coracle::coro {

// `new` and `delete` of derived classes use the current executor's frame pool. If an object is deleted
// through a base, that base must have a virtual destructor, because the pool needs the actual size.
class pooled {
 public:
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

 protected:
  ~pooled() = default;
};

}  // namespace coracle::coro
