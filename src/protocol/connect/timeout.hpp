// timeout: connect-timeout-ms: a number of milliseconds in at most ten digits.
#pragma once

#include "coracle/base/clock.hpp"

#include <optional>
#include <string_view>

namespace coracle::protocol::connect {

inline constexpr unsigned timeout_digits_max = 10;

struct timeout_text {
  char bytes[timeout_digits_max + 2];
  unsigned size = 0;
  [[nodiscard]] std::string_view view() const noexcept { return {bytes, size}; }
};

// Formats the time, rounded up: the peer must not end the call before the deadline, which the caller also
// enforces. At least 1, since the number must be positive. Returns an empty text if the time needs more than
// ten digits (115 days): the field must then be omitted.
[[nodiscard]] timeout_text format_timeout(duration left) noexcept;

// Returns nullopt if the text violates the grammar. 0, which the grammar does not allow, is accepted as a
// time that has expired, because clients round down to it.
[[nodiscard]] std::optional<duration> parse_timeout(std::string_view text) noexcept;

}  // namespace coracle::protocol::connect
