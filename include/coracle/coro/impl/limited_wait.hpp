// limited_wait: shared by with_timeout() and stop_on(): a task that may also be stopped from outside its
// environment.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/impl/as_task.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::coro {

// The result type of a limited wait: the result type of the wait itself, if it is a status or a result.
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

// The Limit is made from the awaiter's environment and the `Bound` when the wait begins. Its inner() is the
// environment of the task, expired() tells whether the limit has stopped the task, and reason() is the status
// for that case.
template <class T, class Limit, class Bound>
class [[nodiscard]] limited_wait {
 public:
  template <awaitable Wait>
  limited_wait(Bound bound, Wait inner) : bound_(bound), task_(as_task(std::move(inner))) {}
  limited_wait(const limited_wait&) = delete;
  limited_wait& operator=(const limited_wait&) = delete;
  ~limited_wait() {
    if (child_) child_.destroy();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  promise_base::transfer await_suspend(std::coroutine_handle<Promise> parent) {
    CORACLE_REQUIRE(
        task_.valid(),
        "a time limit or stop token around a task that is empty or has ended: a task is awaited once");
    limit_.emplace(environment_of(parent), bound_);
    child_ = task_.release();
    child_.promise().inherit(limit_->inner());
    child_.promise().set_continuation(parent);
    return promise_base::start(child_, child_.promise());
  }
  typename in_time<T>::type await_resume() {
    const bool expired = limit_->expired();
    limit_.reset();
    try {
      if constexpr (std::is_void_v<T>) {
        child_.promise().take();
        return status();
      } else {
        T value = child_.promise().take();
        // I/O and calls report a stop in the status that they give anyway.
        if constexpr (std::is_same_v<T, typename in_time<T>::type>)
          if (expired && is_cancelled(value)) return Limit::reason();
        return value;
      }
    } catch (const cancelled&) {
      if (!expired) throw;
      return Limit::reason();
    }
  }

 private:
  static bool is_cancelled(const status& s) noexcept { return s.code() == status_code::cancelled; }
  template <class U>
  static bool is_cancelled(const result<U>& r) {
    return !r.ok() && is_cancelled(r.status());
  }

  Bound bound_;
  task<T> task_;
  typename task<T>::handle child_;
  std::optional<Limit> limit_;
};

}  // namespace coracle::coro
