// definition_text: services, methods and messages as their .proto files have them.
#pragma once

#include "tools/schema/schema.hpp"

#include <string>

namespace coracle::tools {

[[nodiscard]] std::string definition_text(const google::protobuf::ServiceDescriptor& service);
// With the messages and enums that it needs.
[[nodiscard]] std::string definition_text(const google::protobuf::MethodDescriptor& method);
// Whatever has that name; throws failure where nothing has.
[[nodiscard]] std::string definition_text(schema& types, const std::string& name);
// "package.Service/Method", a line for each.
[[nodiscard]] std::string methods_text(const google::protobuf::ServiceDescriptor& service);

}  // namespace coracle::tools
