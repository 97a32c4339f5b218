// outcome<T>: how a task ended: its value, or the exception that left it.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

/// Holds exactly one of a value and an exception; an outcome<void> has no value. value() of a failed outcome
/// rethrows the exception. An outcome owns what it holds and does not refer to the task.
template <class T>
class [[nodiscard]] outcome {
  using held = std::conditional_t<std::is_void_v<T>, bool, T>;

 public:
  /// The type of the value; may be void.
  using value_type = T;

  /// Makes the outcome of a task that completed. For void, the argument has no meaning.
  explicit outcome(held&& value) : value_(std::move(value)) {}
  /// The same, of a copy of the value.
  explicit outcome(const held& value) : value_(value) {}
  /// Makes the outcome of a task that threw; `error` is not null.
  [[nodiscard]] static outcome failure(std::exception_ptr error) noexcept {
    CORACLE_ASSERT(error, "a failed outcome requires its exception");
    return outcome(failed{}, std::move(error));
  }
  /// Returns the outcome of a task that never started because it was stopped before.
  [[nodiscard]] static outcome stopped() noexcept {
    return failure(std::make_exception_ptr(coro::cancelled()));
  }

  /// Returns whether there is a value.
  [[nodiscard]] bool ok() const noexcept { return !error_; }
  /// Returns ok().
  explicit operator bool() const noexcept { return ok(); }
  /// Returns the exception; null when the task completed.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }
  /// Returns whether the task ended with coro::cancelled.
  [[nodiscard]] bool cancelled() const noexcept { return coro::is_cancelled(error_); }

  /// @{
  /// Returns the value, or throws the exception.
  std::add_lvalue_reference_t<T> value() & {
    rethrow_error();
    if constexpr (!std::is_void_v<T>) return *value_;
  }
  std::add_lvalue_reference_t<const T> value() const& {
    rethrow_error();
    if constexpr (!std::is_void_v<T>) return *value_;
  }
  T value() && {
    rethrow_error();
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }
  /// @}

 private:
  struct failed {
    explicit failed() = default;
  };
  outcome(failed, std::exception_ptr error) noexcept : error_(std::move(error)) {}
  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }
  std::optional<held> value_;
  std::exception_ptr error_;
};

/// @cond
namespace coro {

// Moves the outcome out of a task that has ended.
template <class T>
outcome<T> outcome_of(task_promise<T>& ended) {
  if (ended.error()) return outcome<T>::failure(ended.error());
  if constexpr (std::is_void_v<T>) return outcome<T>(true);
  else return outcome<T>(ended.take());
}
// The same for a task that has ended or was never started.
template <class T>
outcome<T> outcome_of_any(std::coroutine_handle<task_promise<T>> h) {
  return h.done() ? outcome_of(h.promise()) : outcome<T>::stopped();
}

}  // namespace coro
/// @endcond
}  // namespace coracle
