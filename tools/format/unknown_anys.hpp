// unknown_anys: finds and replaces the google.protobuf.Any values of unknown types in a message.
#pragma once

#include <map>
#include <string>

namespace google::protobuf {
class Message;
}

namespace coracle::tools {

class schema;

// For each type URL of google.protobuf.Any, why its bytes cannot be shown as a message.
using any_errors = std::map<std::string, std::string>;

// Checks each Any inside `message`, which is not changed. May block to query the server for types, so do not
// call it on a loop.
[[nodiscard]] any_errors find_unknown_anys(google::protobuf::Message& message, schema& types);

// The fields of the message that replaces the value of such an Any.
constexpr int any_error_field = 1;  // a string
constexpr int any_value_field = 2;  // bytes: the original value

// Replaces the values of all Anys with these URLs by messages with those two fields.
void replace_unknown_anys(google::protobuf::Message& message, schema& types, const any_errors& errors);

}  // namespace coracle::tools
