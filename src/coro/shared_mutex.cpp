#include "coracle/coro/shared_mutex.hpp"

namespace coracle {

void shared_mutex::left(coro::waiter& w) noexcept {
  w.resume_soon();
  static_cast<waiter&>(w).owner.grant();
}

void shared_mutex::grant() noexcept {
  while (auto* first = static_cast<waiter*>(waiters_.front())) {
    if (!take(first->kind)) return;
    waiters_.pop_front();
    first->resume_soon();
  }
}

}  // namespace coracle
