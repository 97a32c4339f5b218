// trailing_comments: prints definitions with each trailing comment on the line of its element.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace coracle::tools {

// Like DebugString() with comments. But DebugString() puts the comment of `int64 id = 1;  // given by the
// server` on the next line, where it would be read as that of the next field.
[[nodiscard]] std::string commented_text(const google::protobuf::Descriptor& type);
[[nodiscard]] std::string commented_text(const google::protobuf::EnumDescriptor& type);
[[nodiscard]] std::string commented_text(const google::protobuf::ServiceDescriptor& service);
[[nodiscard]] std::string commented_text(const google::protobuf::MethodDescriptor& method);

}  // namespace coracle::tools
