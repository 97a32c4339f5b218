// accept_pause: a listener rests after the process ran out of descriptors or memory.
#pragma once

#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/runtime/loop.hpp"

#include <coroutine>

namespace coracle::net {

// co_await it, again and again, for runtime_internal::accept_rest. A stop and the deadline of the awaiter's environment end it
// early and are not told: the operation that is tried next finds them. Belongs to the listening socket; resumes
// on its loop, from the timers, never inside of end() or a stop.
class accept_pause : coro::timer, coro::stop_callback {
 public:
  explicit accept_pause(loop& home) noexcept;
  accept_pause(const accept_pause&) = delete;
  accept_pause& operator=(const accept_pause&) = delete;

  // Ends it early. Nothing when nobody waits.
  void end() noexcept;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  void await_resume() const noexcept {}

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e) noexcept;

  loop& home_;
  std::coroutine_handle<> waiter_;
};

}  // namespace coracle::net
