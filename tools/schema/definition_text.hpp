// definition_text: prints services, methods and messages in the syntax of .proto files.
#pragma once

#include "tools/schema/schema.hpp"

#include <string>

namespace coracle::tools {

[[nodiscard]] std::string definition_text(const google::protobuf::ServiceDescriptor& service);
// Includes the messages and enums that the method needs.
[[nodiscard]] std::string definition_text(const google::protobuf::MethodDescriptor& method);
// Prints whatever has that name; throws failure if nothing has.
[[nodiscard]] std::string definition_text(schema& types, const std::string& name, const std::string& hint);
// Prints "package.Service/Method" on a line for each method.
[[nodiscard]] std::string methods_text(const google::protobuf::ServiceDescriptor& service);

}  // namespace coracle::tools
