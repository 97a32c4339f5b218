// interceptor_chain: what an interceptor's next() is awaited through, the same on both sides.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace coracle::rpc {

// The interceptors around one call, by number, and what stands behind the last of them: a handler, or a try of a
// client's call. Outlives every next() of its interceptors.
class interceptor_chain {
 public:
  enum class then : std::uint8_t { child, wait, go_on };
  // For the next() before `index`: that interceptor's task as `child`; or the end of the chain, which resumes
  // `waiter` when it is done (wait) or is done already (go_on). `failure`: why there is no child.
  virtual then step(std::size_t index, std::coroutine_handle<> waiter, const coro::environment& inherited,
                    task<status>::handle& child, status& failure) noexcept = 0;
  // After that: what next() gives.
  virtual status result(std::size_t index, task<status>::handle child, const status& failure) noexcept = 0;

 protected:
  ~interceptor_chain() = default;
};

// co_await next(): runs what stands behind an interceptor, and gives the status of that.
class rest_awaiter {
 public:
  rest_awaiter(interceptor_chain& of, std::size_t index) noexcept : of_(of), index_(index) {}
  rest_awaiter(const rest_awaiter&) = delete;
  rest_awaiter& operator=(const rest_awaiter&) = delete;
  ~rest_awaiter() {
    if (child_) child_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> h) noexcept {
    using then = interceptor_chain::then;
    const coro::environment& inherited = coro::environment_of(h);
    switch (of_.step(index_, h, inherited, child_, failure_)) {
      case then::wait: return away();
      case then::go_on: return back(h);
      case then::child: break;
    }
    child_.promise().inherit(inherited);
    child_.promise().set_continuation(h);
    return coro::promise_base::start(child_, child_.promise());
  }
  status await_resume() noexcept { return of_.result(index_, child_, failure_); }

 private:
#if CORACLE_TRAMPOLINE
  static bool away() noexcept { return true; }
  static bool back(std::coroutine_handle<>) noexcept { return false; }
#else
  static std::coroutine_handle<> away() noexcept { return std::noop_coroutine(); }
  static std::coroutine_handle<> back(std::coroutine_handle<> h) noexcept { return h; }
#endif

  interceptor_chain& of_;
  std::size_t index_;
  task<status>::handle child_;
  status failure_;
};

}  // namespace coracle::rpc
