// task<T>: a lazy coroutine. It starts when it is awaited and resumes its awaiter when it ends.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/owned_frame.hpp"
#include "coracle/coro/impl/promise.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

template <class T = void>
class task;

/// @cond
namespace coro {

template <class T>
class task_promise : public promise_base {
 public:
  task<T> get_return_object() noexcept;
  template <class U>
    requires std::is_convertible_v<U&&, T>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  T take() {
    if (error_) std::rethrow_exception(std::move(error_));
    // The language leaves this case undefined; g++ and clang continue to the final suspend point.
    CORACLE_REQUIRE(value_, "a task<T> reached its end without co_return: return a value on every path");
    return std::move(*value_);
  }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  std::optional<T> value_;
  std::exception_ptr error_;
};

template <>
class task_promise<void> : public promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
  void take() {
    if (error_) std::rethrow_exception(std::move(error_));
  }
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

 private:
  std::exception_ptr error_;
};

}  // namespace coro
/// @endcond

/// A lazy coroutine with a result of type T. It owns its frame. Await it once, as an rvalue, on the executor
/// where it shall run. It inherits the awaiter's environment (stop token and deadline). What the coroutine's
/// arguments refer to must outlive the await. Destroying a task that was started and has not ended is a
/// defect of the caller.
///
/// Known compiler bug: GCC 12 destroys some temporaries in a co_await expression twice. Await named objects,
/// or calls whose arguments are named or are not aggregates (docs/guides/hazards.md).
template <class T>
class [[nodiscard]] task {
 public:
  /// @cond
  using promise_type = coro::task_promise<T>;
  using handle = std::coroutine_handle<promise_type>;
  /// @endcond
  /// The type of the result.
  using value_type = T;

  /// Makes an empty task, which cannot be awaited.
  task() noexcept = default;
  /// @cond
  explicit task(handle h) noexcept : frame_(h) {}
  /// @endcond

  /// Returns whether the task can be awaited or started: it holds a frame that has not ended. False after the
  /// task was moved from and after its await.
  [[nodiscard]] bool valid() const noexcept { return frame_.get() && !frame_.get().done(); }
  /// Gives up ownership of the frame: the caller must start and destroy it.
  [[nodiscard]] handle release() noexcept { return frame_.release(); }

  /// @cond
  class awaiter {
   public:
    explicit awaiter(handle h) noexcept : child_(h) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> parent) {
      CORACLE_REQUIRE(child_ && !child_.done(),
                      "awaited a task that is empty or has ended: a task is awaited once");
      child_.promise().inherit(coro::environment_of(parent));
      child_.promise().set_continuation(parent);
      return coro::promise_base::start(child_, child_.promise());
    }
    T await_resume() { return child_.promise().take(); }

   private:
    handle child_;
  };
  /// @endcond
  /// Runs the task on the current executor: T, or the exception that left the task. Throws usage_error if the
  /// task is empty or has ended.
  awaiter operator co_await() && noexcept { return awaiter(frame_.get()); }

 private:
  coro::owned_frame<promise_type> frame_;
};

/// @cond
namespace coro {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

}  // namespace coro
/// @endcond
}  // namespace coracle
