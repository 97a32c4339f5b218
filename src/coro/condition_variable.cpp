#include "coracle/coro/condition_variable.hpp"

namespace coracle {

void condition_variable::awaiter::lock_again(coro::waiter& w) noexcept {
  w.ignore_stops();
  if (std::exchange(mutex_->locked_, true)) mutex_->waiters_.push_back(w);
  else w.resume_soon();
}

void condition_variable::notify_here(std::uint64_t n) noexcept {
  coro::waiter_queue notified;
  for (; n != 0 && !waiters_.empty(); --n) notified.push_back(*waiters_.pop_front());
  while (coro::waiter* w = notified.pop_front()) awaiter::of(*w).lock_again(*w);
}

}  // namespace coracle
