#include "coracle/coro/semaphore.hpp"

namespace coracle {

void semaphore::grant() noexcept {
  coro::waiter_queue granted;
  while (coro::waiter* first = waiters_.front()) {
    const std::size_t wanted = acquire_call::of(*first).permits_wanted_;
    if (wanted > permits_) break;
    permits_ -= wanted;
    waiters_.pop_front();
    granted.push_back(*first);
  }
  coro::resume_all(granted);
}

}  // namespace coracle
