// field_text: sets a field of a message from text, as it stands in a path or in a query.
#pragma once

#include "coracle/base/status.hpp"

#include <string_view>

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::rest {

// Whether a field can be set from text: scalars, enums, wrappers, Timestamp, Duration and FieldMask,
// repeated or not. Maps and other messages cannot.
[[nodiscard]] bool has_text_form(const google::protobuf::FieldDescriptor& field);
// google.protobuf.Int32Value and so on.
[[nodiscard]] bool is_wrapper(const google::protobuf::FieldDescriptor& field);

// Sets a field that has a text form, or adds an element if it is repeated. `name` is the field in errors,
// "movie.year". The status is INVALID_ARGUMENT: "field movie.year: 'abc' is no int32".
status set_field_text(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                      std::string_view text, std::string_view name);

}  // namespace coracle::rest
