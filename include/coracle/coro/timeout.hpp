// timeout: a task with a time limit, which stops the task and still waits for its end.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/as_task.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <optional>
#include <type_traits>

namespace coracle {

namespace coro {

// The part that does not depend on the task's type.
class time_limit : timer {
 public:
  time_limit(const environment& outer, time_point end) noexcept;
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;
  ~time_limit();
  [[nodiscard]] bool expired() const noexcept { return expired_; }
  [[nodiscard]] const environment& inner() const noexcept { return inner_; }

 private:
  stop_source stop_;
  environment inner_;
  executor& executor_;
  bool expired_ = false;
};

// What a wait with a limit gives: the wait's own kind of result, where it has one.
template <class T>
struct in_time {
  using type = result<T>;
};
template <class T>
struct in_time<result<T>> {
  using type = result<T>;
};
template <>
struct in_time<status> {
  using type = status;
};
template <>
struct in_time<void> {
  using type = status;
};

}  // namespace coro

// co_await timeout(1s, wait) of a task<T>, or of another awaiter of T that can be moved, gives result<T>
// (status for void; result<T> and status stay what they are): what the wait gave, or
// DEADLINE_EXCEEDED when the limit passed and the task ended by coro::cancelled. A task that ends well in
// spite of the stop keeps its value; its other exceptions pass through. Calls made inside see the deadline.
template <class T>
class [[nodiscard]] timeout {
 public:
  template <coro::awaitable Wait>
  timeout(duration limit, Wait inner) : limit_(limit), task_(coro::as_task(std::move(inner))) {}
  timeout(const timeout&) = delete;
  timeout& operator=(const timeout&) = delete;
  ~timeout() {
    if (child_) child_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    clock_.emplace(coro::environment_of(parent), deadline_after(coro::this_executor().now(), limit_));
    child_ = task_.release();
    child_.promise().inherit(clock_->inner());
    child_.promise().set_continuation(parent);
    return coro::promise_base::start(child_, child_.promise());
  }
  typename coro::in_time<T>::type await_resume() {
    const bool expired = clock_->expired();
    clock_.reset();
    try {
      if constexpr (std::is_void_v<T>) {
        child_.promise().take();
        return status();
      } else {
        return child_.promise().take();
      }
    } catch (const coro::cancelled&) {
      if (!expired) throw;
      return status::deadline_exceeded("the time limit passed");
    }
  }

 private:
  duration limit_;
  task<T> task_;
  typename task<T>::handle child_;
  std::optional<coro::time_limit> clock_;
};
template <class Wait>
timeout(duration, Wait) -> timeout<coro::awaited_t<Wait>>;

}  // namespace coracle
