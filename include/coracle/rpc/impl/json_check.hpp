// json_check: whether a server reads a text as JSON, and what is wrong if it does not, for programs that read
// it with their own types.
#pragma once

#include "coracle/base/status.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::rpc {

// Checks what json_codec() requires of the text of a message beyond what protobuf's parser does: JSON as in
// RFC 8259 in UTF-8, each field once, arrays and maps without null, true or false for a bool. The status is
// INVALID_ARGUMENT with line and column (in bytes), counted from 1.
[[nodiscard]] status check_json_text(std::string_view text, const google::protobuf::Descriptor& type);

// Why protobuf's mapping does not read a text.
struct json_fault {
  enum class kind : std::uint8_t {
    unknown_field,
    misfit,  // the value is not of the type
    other,
  };

  kind fault = kind::other;
  std::string
      path;  // of the field in the names of its .proto, such as "books[1].year"; empty: the whole text
  std::string value;  // of a misfit, as it stands in the text
  std::string type;  // of a misfit: int32, movie.Movie
  std::string reason;  // "1.5 is no int32", in printable characters

  // "field books[1].year: 1.5 is no int32"
  [[nodiscard]] std::string text() const { return path.empty() ? reason : "field " + path + ": " + reason; }
};

// Finds why a text, which check_json_text() accepts, is no message like `prototype`.
[[nodiscard]] json_fault find_json_fault(const google::protobuf::Message& prototype, std::string_view text,
                                         bool ignore_unknown_fields);

}  // namespace coracle::rpc
