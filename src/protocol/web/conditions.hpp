// conditions: requests that depend on whether a representation has changed (RFC 9110 8.8, 13).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::protocol::web {

// What identifies a version of a representation.
struct validators {
  std::string_view etag;  // with its quotes; "W/" before them makes it weak
  std::chrono::sys_seconds modified;
};

// The values of the request's fields.
struct request_conditions {
  std::optional<std::string_view> if_match;
  std::optional<std::string_view> if_none_match;
  std::optional<std::string_view> if_modified_since;
  std::optional<std::string_view> if_unmodified_since;
  std::optional<std::string_view> if_range;
};

enum class condition_outcome : std::uint8_t {
  proceed,
  not_modified,  // 304
  failed,        // 412
};

// Evaluates the conditions of a GET or HEAD request in the order of RFC 9110 13.2.2. Malformed dates are
// ignored. `now` is for dates with a short year.
[[nodiscard]] condition_outcome evaluate(const request_conditions& c, const validators& v,
                                         std::chrono::sys_seconds now);

// Whether a range of the request is to be sent (RFC 9110 13.1.5): the client's other parts are of the same
// version, or it has none.
[[nodiscard]] bool permits_range(const request_conditions& c, const validators& v,
                                 std::chrono::sys_seconds now);

}  // namespace coracle::protocol::web
