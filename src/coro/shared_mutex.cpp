#include "coracle/coro/shared_mutex.hpp"

namespace coracle {

void shared_mutex::grant() noexcept {
  while (coro::waiter* first = waiters_.front()) {
    if (!take(lock_call::of(*first).kind_)) return;
    waiters_.pop_front();
    first->resume_soon();
  }
}

}  // namespace coracle
