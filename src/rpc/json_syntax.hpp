// json_syntax: checks JSON text before it is parsed into a message, and quotes strings.
#pragma once

#include "coracle/base/status.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace coracle::rpc {

// Objects and arrays within each other. It is also the limit of protobuf's parsers.
inline constexpr std::size_t json_depth_max = 100;

// Limits what reading a text may cost, and adds up what it has cost. A few bytes of JSON can hold a value
// that takes microseconds to convert, and protobuf's mapping cannot stop within a message. The unit is a byte
// of protobuf's binary format, as in the decode budget of a loop.
struct json_cost {
  // Of a value that plain_json reads, and of a message once more: 0.03 to 0.2 us.
  static constexpr std::size_t plain_value_bytes = 16;
  // Of a value that protobuf's mapping reads: 0.3 to 2 us.
  static constexpr std::size_t mapped_value_bytes = 128;

  std::size_t max = std::numeric_limits<std::size_t>::max();
  std::size_t used = 0;

  // Returns false if the limit is exceeded.
  bool charge(std::size_t bytes) noexcept {
    used = bytes > max - std::min(used, max) ? max : used + bytes;
    return used < max;
  }
};
// The status of a text that exceeds the limit: RESOURCE_EXHAUSTED.
[[nodiscard]] status too_costly_json(const json_cost& cost);

// Checks that `text` is exactly one value of JSON (RFC 8259) in UTF-8, not nested deeper than
// json_depth_max, in which no object has the same field twice. protobuf's parser accepts more than that,
// and takes the last of two singular fields, but both of two repeated ones: which of them the sender meant
// is not known, so the text is refused. With the descriptor of the message, the two names of a field
// ("movie_id", "movieId") count as one, a repeated field must be an array without null, no value of a map is
// null, and a bool must be true or false. The status is INVALID_ARGUMENT with line and column (in bytes),
// counted from 1.
//
// With `cost`, each value is charged with what protobuf's mapping takes for it; the check stops at the limit.
[[nodiscard]] status check_json(std::string_view text, const google::protobuf::Descriptor* type = nullptr,
                                json_cost* cost = nullptr);
// The same for the value of a field alone.
[[nodiscard]] status check_json(std::string_view text, const google::protobuf::FieldDescriptor& field,
                                json_cost* cost = nullptr);

// Whether JSON has a form of its own for the message: its keys, if any, are not its fields.
[[nodiscard]] bool has_own_form(const google::protobuf::Descriptor& type);

// Resolves the escapes in the content of a valid string.
[[nodiscard]] std::string unescape_json(std::string_view content);

// Appends `text` as a string of JSON, with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace coracle::rpc
