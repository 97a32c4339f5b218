// byte_range: which part of a representation a client wants (RFC 9110 14.1.2, 14.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::protocol::web {

struct byte_range {
  std::uint64_t first = 0;
  std::uint64_t length = 0;  // not 0

  friend bool operator==(const byte_range&, const byte_range&) = default;
};

struct range_request {
  enum class kind : std::uint8_t {
    whole,          // 200: there is no range, or one that a server may ignore
    part,           // 206
    unsatisfiable,  // 416: the representation does not have any of these bytes
  };
  kind type = kind::whole;
  byte_range range{};  // of `part`

  friend bool operator==(const range_request&, const range_request&) = default;
};

// Reads the value of Range for a representation of `size_bytes`. Several ranges, other units and malformed
// values are ignored, as RFC 9110 14.2 permits: several ranges cost a server more than they help a client.
[[nodiscard]] range_request parse_range(std::string_view value, std::uint64_t size_bytes) noexcept;

}  // namespace coracle::protocol::web
