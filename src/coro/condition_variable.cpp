#include "coracle/coro/condition_variable.hpp"

namespace coracle {

void condition_variable::awaiter::lock_again() noexcept {
  ignore_stops();
  if (std::exchange(mutex_->locked_, true)) mutex_->waiters_.push_back(*this);
  else resume_soon();
}

void condition_variable::notify_one() noexcept {
  if (coro::waiter* w = waiters_.pop_front()) static_cast<awaiter*>(w)->lock_again();
}

void condition_variable::notify_all() noexcept {
  while (coro::waiter* w = waiters_.pop_front()) static_cast<awaiter*>(w)->lock_again();
}

}  // namespace coracle
