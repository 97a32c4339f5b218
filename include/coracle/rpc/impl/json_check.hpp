// json_check: whether a server reads a text as JSON, for programs that read it with its own types.
#pragma once

#include "coracle/base/status.hpp"

#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace coracle::rpc {

// Checks what json_codec() requires of the text of a message beyond what protobuf's parser does: JSON as in
// RFC 8259 in UTF-8, each field once, arrays and maps without null, true or false for a bool. The status is
// INVALID_ARGUMENT with line and column (in bytes), counted from 1.
[[nodiscard]] status check_json_text(std::string_view text, const google::protobuf::Descriptor& type);

}  // namespace coracle::rpc
