// expected: result<T> and status from and to std::expected, in a program of C++23.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"

#include <utility>
#include <version>

// These are templates and inline functions alone, so that a library which was built as C++20 serves them. The
// standard library has std::expected if the macro is defined; otherwise this header declares nothing.
#ifdef __cpp_lib_expected
#include <expected>

namespace coracle {

/// Returns the value of `r`, or its status as the error. Requires C++23.
template <class T>
[[nodiscard]] std::expected<T, status> to_expected(result<T> r) {
  if (!r.ok()) return std::unexpected(r.status());
  return std::expected<T, status>(std::in_place, *std::move(r));
}

/// Returns nothing if `s` is OK, or `s` as the error. Requires C++23.
[[nodiscard]] inline std::expected<void, status> to_expected(status s) {
  if (!s.ok()) return std::unexpected(std::move(s));
  return {};
}

/// Returns the value of `e`, or the status that is its error. Throws usage_error if that status is OK, since
/// it is not a failure. Requires C++23.
template <class T>
[[nodiscard]] result<T> to_result(std::expected<T, status> e) {
  if (!e.has_value()) return std::move(e).error();
  return *std::move(e);
}

/// Returns OK, or the status that is the error of `e`. Throws usage_error if that status is OK. Requires
/// C++23.
[[nodiscard]] inline status to_status(std::expected<void, status> e) {
  if (e.has_value()) return {};
  CORACLE_REQUIRE(!e.error().ok(), "the error of a std::expected needs a status that is not OK");
  return std::move(e).error();
}

}  // namespace coracle
#endif
