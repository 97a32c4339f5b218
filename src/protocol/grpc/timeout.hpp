// timeout: grpc-timeout on the wire (grpc/grpc doc/PROTOCOL-HTTP2.md): up to eight digits and a unit.
#pragma once

#include "coracle/base/clock.hpp"

#include <optional>
#include <string_view>

namespace coracle::protocol::grpc {

// Has room for the longest text.
struct timeout_text {
  char bytes[12];
  unsigned size = 0;
  [[nodiscard]] std::string_view view() const noexcept { return {bytes, size}; }
};

// Formats the time in the finest unit that fits, rounded down so that the peer never waits longer than
// requested. A time that has expired is "0n".
timeout_text format_timeout(duration left) noexcept;

// Returns nullopt if the text violates the grammar. Saturates at duration::max() (292 years).
std::optional<duration> parse_timeout(std::string_view text) noexcept;

}  // namespace coracle::protocol::grpc
