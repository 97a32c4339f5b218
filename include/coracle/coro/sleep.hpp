// sleep_for and sleep_until: wait on the executor's timers.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"

#include <coroutine>

namespace coracle {

/// co_await sleep_until(t) suspends the task until `t` and resumes it on the executor it was awaited on,
/// never early. If the awaiter's environment is stopped, the sleep ends early by throwing coro::cancelled.
class sleep_until : coro::timer, coro::stop_callback {
 public:
  /// A sleep that begins when it is awaited.
  explicit sleep_until(time_point until) noexcept;
  ~sleep_until() {
    if (holder) coro::this_executor().disarm(*this);
  }
  /// Moves a sleep that has not been awaited yet.
  sleep_until(sleep_until&& other) noexcept : sleep_until(other.until_) {}
  sleep_until& operator=(sleep_until&&) = delete;
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  void await_resume() const {
    if (stopped_) throw coro::cancelled();
  }
  /// @endcond

 protected:
  bool start(std::coroutine_handle<> h, const coro::environment& e) noexcept;
  time_point until_;

 private:
  std::coroutine_handle<> waiter_;
  bool stopped_ = false;
};

/// co_await sleep_for(d) sleeps until `d` from now. A duration of zero or less still lets other work of the
/// turn run.
class sleep_for : public sleep_until {
 public:
  /// The time counts from this call. Must be called on an executor (else: abort).
  explicit sleep_for(duration d) noexcept : sleep_until(deadline_after(coro::this_executor().now(), d)) {}
};

}  // namespace coracle
