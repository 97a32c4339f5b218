#include "coracle/coro/block_on.hpp"

#include "coracle/base/usage_error.hpp"

namespace coracle::coro {

void require_no_executor() {
  CORACLE_REQUIRE(
      !executor::current(),
      "a thread that drives a loop must not block on a task: co_await it, or block on a plain thread");
}

void blocking_signal::set() noexcept {
  // Notifies under the lock: the waiter cannot return and destroy the signal before set() no longer uses it.
  const std::lock_guard lock(mutex_);
  set_ = true;
  changed_.notify_all();
  if (on_set_) on_set_(context_);
}

void blocking_signal::call_when_set(void (*f)(void* context) noexcept, void* context) noexcept {
  const std::lock_guard lock(mutex_);
  if (set_) return f(context);
  on_set_ = f;
  context_ = context;
}

void blocking_signal::wait() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return set_; });
}

bool blocking_signal::is_set() const noexcept {
  const std::lock_guard lock(mutex_);
  return set_;
}

posted_task::posted_task(task<> t) noexcept : frame_(t.release()) {
  run = [](runnable& w) noexcept {
    const auto frame = static_cast<posted_task&>(w).frame_;
    promise_base::begin(frame, frame.promise());
  };
  frame_.promise().set_completion(*this);
}

std::coroutine_handle<> posted_task::finished(promise_base&, std::coroutine_handle<> frame) noexcept {
  frame.destroy();
  ended.set();
  return std::noop_coroutine();
}

}  // namespace coracle::coro
