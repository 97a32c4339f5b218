#include "coracle/coro/condition_variable.hpp"

namespace coracle {

void condition_variable::awaiter::lock_again(coro::waiter& w) noexcept {
  w.ignore_stops();
  if (std::exchange(mutex_->locked_, true)) mutex_->waiters_.push_back(w);
  else w.resume_soon();
}

// None of those notified can wait again before this returns.
void condition_variable::notify_here(std::uint64_t n) noexcept {
  for (; n != 0; --n) {
    coro::waiter* w = waiters_.pop_front();
    if (!w) return;
    awaiter::of(*w).lock_again(*w);
  }
}

}  // namespace coracle
