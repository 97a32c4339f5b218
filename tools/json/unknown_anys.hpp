// unknown_anys: the google.protobuf.Any inside of a message whose types are not known.
#pragma once

#include <map>
#include <string>

namespace google::protobuf {
class Message;
}

namespace coracle::tools {

class schema;

// By the type URLs of google.protobuf.Any: why its bytes cannot be shown as a message.
using any_errors = std::map<std::string, std::string>;

// Looks at each Any inside of `message`, which stays as it is. On a plain thread: types may have to be asked of the server.
[[nodiscard]] any_errors find_unknown_anys(google::protobuf::Message& message, schema& types);

// Fields of the message that replaces the value of such an Any.
constexpr int any_error_field = 1;  // a string
constexpr int any_value_field = 2;  // bytes: the value that was there

// Replaces the values of all Anys with these URLs by messages of those two fields.
void replace_unknown_anys(google::protobuf::Message& message, schema& types, const any_errors& errors);

}  // namespace coracle::tools
