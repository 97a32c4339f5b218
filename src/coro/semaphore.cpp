#include "coracle/coro/semaphore.hpp"

namespace coracle {

void semaphore::grant() noexcept {
  while (coro::waiter* first = waiters_.front()) {
    const std::size_t wanted = acquire_awaiter::of(*first).wanted_;
    if (wanted > permits_) return;
    permits_ -= wanted;
    waiters_.pop_front();
    first->resume_soon();
  }
}

}  // namespace coracle
