#include "coracle/coro/semaphore.hpp"

#include "coracle/base/assert.hpp"

namespace coracle {

semaphore::~semaphore() {
  CORACLE_ASSERT(waiters_.empty(), "a semaphore was destroyed while tasks wait for it: join them first");
}

void semaphore::left(coro::waiter& w) noexcept {
  w.resume_soon();
  static_cast<acquire_awaiter::waiter&>(w).owner.grant();
}

void semaphore::grant() noexcept {
  while (auto* first = static_cast<acquire_awaiter::waiter*>(waiters_.front())) {
    if (first->wanted > permits_) return;
    permits_ -= first->wanted;
    waiters_.pop_front();
    first->resume_soon();
  }
}

}  // namespace coracle
