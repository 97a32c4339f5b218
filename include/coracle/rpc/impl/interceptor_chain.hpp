// interceptor_chain: the awaiter of an interceptor's next(), the same on both sides.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/intercepted_message.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace coracle::rpc {

// The interceptors around one call, by index, and what the last of them calls: a handler, or an attempt of a
// client's call. Outlives every next() of its interceptors.
class interceptor_chain {
 public:
  enum class next_step : std::uint8_t { child, wait, proceed };
  // What one next() does with the messages of the call, while it is awaited.
  struct level {
    std::shared_ptr<message_hooks> hooks;  // null: it does not look at them
    // Of a client's call with one request: the request after these hooks, which the rest of the chain sees.
    std::unique_ptr<intercepted_message> request;
    level* outer = nullptr;  // of the levels with hooks
    bool entered = false;
  };
  // Advances the chain for the next() that calls `index`. Returns `child` with the task of that interceptor
  // in `child`, or, at the end of the chain, `wait` if the end of the call will resume `waiter`, or `proceed`
  // if the call is already done. `failure`: the reason if there is no child.
  virtual next_step step(std::size_t index, level& at, std::coroutine_handle<> waiter,
                         const coro::environment& inherited, task<status>::handle& child,
                         status& failure) noexcept = 0;
  // Returns the result of next(), after step() and the work that it started are done.
  virtual status result(level& at, task<status>::handle child, const status& failure) noexcept = 0;
  // The messages of a call that has one of them. Otherwise the functions below throw usage_error.
  [[nodiscard]] virtual bool has_request() const noexcept = 0;
  [[nodiscard]] virtual bool has_reply() const noexcept = 0;
  virtual intercepted_message& request() = 0;
  virtual intercepted_message& reply() = 0;

 protected:
  ~interceptor_chain() = default;
};

// The awaiter of next(): runs the rest of the chain and returns its status.
class rest_awaiter {
 public:
  rest_awaiter(interceptor_chain& of, std::size_t index, std::shared_ptr<message_hooks> hooks) noexcept
      : of_(of), index_(index) {
    level_.hooks = std::move(hooks);
  }
  rest_awaiter(const rest_awaiter&) = delete;
  rest_awaiter& operator=(const rest_awaiter&) = delete;
  ~rest_awaiter() {
    if (child_) child_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> h) noexcept {
    using next_step = interceptor_chain::next_step;
    const coro::environment& inherited = coro::environment_of(h);
    switch (of_.step(index_, level_, h, inherited, child_, failure_)) {
      case next_step::wait: return suspend();
      case next_step::proceed: return resume(h);
      case next_step::child: break;
    }
    child_.promise().inherit(inherited);
    child_.promise().set_continuation(h);
    return coro::promise_base::start(child_, child_.promise());
  }
  status await_resume() noexcept { return of_.result(level_, child_, failure_); }

 private:
#if CORACLE_TRAMPOLINE
  static bool suspend() noexcept { return true; }
  static bool resume(std::coroutine_handle<>) noexcept { return false; }
#else
  static std::coroutine_handle<> suspend() noexcept { return std::noop_coroutine(); }
  static std::coroutine_handle<> resume(std::coroutine_handle<> h) noexcept { return h; }
#endif

  interceptor_chain& of_;
  std::size_t index_;
  interceptor_chain::level level_;
  task<status>::handle child_;
  status failure_;
};

}  // namespace coracle::rpc
