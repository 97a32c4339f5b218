#include "coracle/coro/executor.hpp"

#include "coracle/base/impl/assert.hpp"

namespace coracle::coro {

executor& this_executor() noexcept {
  executor* e = executor::current();
  CORACLE_ASSERT(e,
                 "this requires a loop: call it from a coroutine that runs on one, not from a plain thread");
  return *e;
}

}  // namespace coracle::coro
