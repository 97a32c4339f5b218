// yield: lets a long computation give way to other work of its loop.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"

#include <coroutine>

namespace coracle {

/// co_await yield() resumes in the executor's next turn, after all queued work, I/O and timers. Throws
/// coro::cancelled if the environment was requested to stop by then, so that a computation that yields can be
/// stopped. Does not allocate.
class [[nodiscard]] yield : coro::runnable {
 public:
  /// Await it: `co_await yield()`.
  yield() noexcept {
    run = [](coro::runnable& w) noexcept { static_cast<yield&>(w).waiter_.resume(); };
  }
  yield(const yield&) = delete;
  yield& operator=(const yield&) = delete;
  /// @cond
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> h) noexcept {
    waiter_ = h;
    stop_ = coro::environment_of(h).stop;
    coro::this_executor().post_next_turn(*this);
  }
  void await_resume() const {
    if (stop_.stop_requested()) throw coro::cancelled();
  }
  /// @endcond

 private:
  std::coroutine_handle<> waiter_;
  coro::stop_token stop_;
};

}  // namespace coracle
