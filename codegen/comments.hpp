// comments: turns the comments of a .proto into comments of the generated code.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::codegen {

// Lines that are safe in a C++ comment after its two slashes, whatever `text` contains.
std::vector<std::string> comment_lines(std::string_view text);

// The comment before a service or a method; if there is none, the one after it.
template <class Descriptor>
std::vector<std::string> comments_of(const Descriptor& described) {
  google::protobuf::SourceLocation where;
  if (!described.GetSourceLocation(&where)) return {};
  return comment_lines(where.leading_comments.empty() ? where.trailing_comments : where.leading_comments);
}

}  // namespace coracle::codegen
