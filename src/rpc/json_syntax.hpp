// json_syntax: checks JSON text before it is parsed into a message, and quotes strings.
#pragma once

#include "coracle/base/status.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace coracle::rpc {

// Objects and arrays within each other. It is also the limit of protobuf's parsers.
inline constexpr std::size_t json_depth_max = 100;

// Checks that `text` is exactly one value of JSON (RFC 8259) in UTF-8, not nested deeper than
// json_depth_max, in which no object has the same field twice. protobuf's parser accepts more than that,
// and takes the last of two singular fields, but both of two repeated ones: which of them the sender meant
// is not known, so the text is refused. With the descriptor of the message, the two names of a field
// ("movie_id", "movieId") count as one, a repeated field must be an array, and a bool must be true or
// false. The status is INVALID_ARGUMENT with line and column (in bytes), counted from 1.
[[nodiscard]] status check_json(std::string_view text, const google::protobuf::Descriptor* type = nullptr);
// The same for the value of a field alone.
[[nodiscard]] status check_json(std::string_view text, const google::protobuf::FieldDescriptor& field);

// Appends `text` as a string of JSON, with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace coracle::rpc
