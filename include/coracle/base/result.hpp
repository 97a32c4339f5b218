// result<T>: a value of type T, or the status that explains why there is none.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"

#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace coracle {

/// Thrown by result::value() on a failed result, for code that prefers exceptions.
class status_error : public std::exception {
 public:
  /// Makes the exception for a status that is not OK.
  explicit status_error(coracle::status reason) : status_(std::move(reason)), text_(status_.to_string()) {}
  /// Returns the status of the failed result.
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  /// Returns the text of status::to_string(), borrowed from this exception.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  coracle::status status_;
  std::string text_;
};

/// @cond
namespace base {

// Throws usage_error: the caller dereferenced a result without a value.
[[noreturn]] void throw_failed_result(const status& reason);

// Whether a T is itself true or false, so that a test of a result<T> reads as a test of the T.
template <class T>
inline constexpr bool has_own_truth = std::is_same_v<T, bool>;
template <class T>
inline constexpr bool has_own_truth<std::optional<T>> = true;

}  // namespace base
/// @endcond

/// Holds exactly one of a value and a failed status. A status that is OK cannot be stored, since it is not a
/// failure: the constructor throws usage_error.
template <class T>
class [[nodiscard]] result {
 public:
  static_assert(!std::is_reference_v<T> && !std::is_same_v<T, coracle::status>,
                "result<T> requires a value type; use status for no value");
  /// The type of the value.
  using value_type = T;

  /// Holds the value.
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  /// Accepts a pointer to a derived class where T is a pointer to its base.
  template <class U>
    requires(!std::is_same_v<U, T> && std::is_convertible_v<U, T> &&
             requires {
               typename U::element_type;
               typename T::element_type;
             })
  result(U value) : result(T(std::move(value))) {}
  /// Holds the status of a failure. Throws usage_error if it is OK.
  result(coracle::status reason) : state_(std::in_place_index<1>, std::move(reason)) {
    CORACLE_REQUIRE(!std::get<1>(state_).ok(), "a result without a value needs a status that is not OK");
  }

  /// Returns whether there is a value.
  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  /// Returns ok(). Does not compile for a bool or an optional: `while (co_await call.read(into))` would be
  /// true for a stream that has ended with OK, whose result holds false.
  explicit operator bool() const noexcept {
    static_assert(
        !base::has_own_truth<T>,
        "a result of a bool or of an optional is not a condition: write .ok() to test for an error, or "
        ".value() to test the value");
    return ok();
  }

  /// Returns the status: OK when there is a value.
  [[nodiscard]] coracle::status status() const { return ok() ? coracle::status() : std::get<1>(state_); }

  /// @{
  /// Returns the value, or throws status_error when there is none.
  T& value() & { return require_value(), std::get<0>(state_); }
  const T& value() const& { return require_value(), std::get<0>(state_); }
  T&& value() && { return require_value(), std::get<0>(std::move(state_)); }
  /// @}

  /// @{
  /// Returns the value. On a failed result this is a defect of the caller and throws usage_error.
  T& operator*() & { return held(); }
  const T& operator*() const& { return const_cast<result*>(this)->held(); }
  T&& operator*() && { return std::move(held()); }
  T* operator->() { return &held(); }
  const T* operator->() const { return &const_cast<result*>(this)->held(); }
  /// @}

  /// Moves the value out, or returns `other`, converted to T, when there is no value.
  template <class U>
  T value_or(U&& other) && {
    return ok() ? std::get<0>(std::move(state_)) : static_cast<T>(std::forward<U>(other));
  }

 private:
  void require_value() const {
    if (!ok()) throw status_error(std::get<1>(state_));
  }
  T& held() {
    T* const value = std::get_if<0>(&state_);
    if (!value) [[unlikely]]
      base::throw_failed_result(std::get<1>(state_));
    return *value;
  }
  std::variant<T, coracle::status> state_;
};

}  // namespace coracle
