// result<T>: a T or the status that says why there is none.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace coracle {

// Thrown by result::value() on a failed result, for code that prefers exceptions.
class status_error : public std::exception {
 public:
  explicit status_error(coracle::status why) : status_(std::move(why)), text_(status_.to_string()) {}
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  coracle::status status_;
  std::string text_;
};

namespace base {

// usage_error: a result without a value was dereferenced.
[[noreturn]] void throw_failed_result(const status& why);

}  // namespace base

// Holds exactly one of a value and a failed status. A default-constructed status (ok) is no
// failure and may not be stored: that is a defect of the caller and throws usage_error.
template <class T>
class [[nodiscard]] result {
 public:
  static_assert(!std::is_reference_v<T> && !std::is_same_v<T, coracle::status>,
                "a result holds a value; use status alone for none");
  using value_type = T;

  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(coracle::status why) : state_(std::in_place_index<1>, std::move(why)) {
    CORACLE_REQUIRE(!std::get<1>(state_).ok(), "a result without a value needs a status that is not OK");
  }

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The status: ok when there is a value.
  [[nodiscard]] coracle::status status() const { return ok() ? coracle::status() : std::get<1>(state_); }

  // The value, or status_error thrown.
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  T&& value() && { return check(), std::get<0>(std::move(state_)); }

  // The value; calling these on a failed result is a defect of the caller and throws usage_error.
  T& operator*() & { return held(); }
  const T& operator*() const& { return const_cast<result*>(this)->held(); }
  T&& operator*() && { return std::move(held()); }
  T* operator->() { return &held(); }
  const T* operator->() const { return &const_cast<result*>(this)->held(); }

  template <class U>
  T value_or(U&& other) && {
    return ok() ? std::get<0>(std::move(state_)) : static_cast<T>(std::forward<U>(other));
  }

 private:
  void check() const {
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
