#include "coracle/coro/shared_mutex.hpp"

namespace coracle {

void shared_mutex::grant() noexcept {
  coro::waiter_queue granted;
  while (coro::waiter* first = waiters_.front()) {
    if (!take(lock_call::of(*first).kind_)) break;
    waiters_.pop_front();
    granted.push_back(*first);
  }
  coro::resume_all(granted);
}

}  // namespace coracle
