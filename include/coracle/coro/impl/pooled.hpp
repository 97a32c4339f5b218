// pooled: a base for objects that come and go with calls and operations.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"

#include <cstddef>

namespace coracle::coro {

// `new` and `delete` of what derives from it use the current executor's frame pool. Where it is deleted
// through a base, that base has a virtual destructor: the pool must be told the true size.
class pooled {
 public:
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

 protected:
  ~pooled() = default;
};

}  // namespace coracle::coro
