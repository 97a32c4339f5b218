// field_prompts: a message, asked for field by field.
#pragma once

#include "tools/repl/line_editor.hpp"

#include <google/protobuf/message.h>

#include <string>

namespace coracle::tools {

// An empty answer leaves a field as it is, or ends the elements of a repeated one; an answer that is no value of the
// field's type is asked for again, or throws failure where nobody types. Strings and bytes are taken as they are typed.
class field_prompts {
 public:
  explicit field_prompts(line_editor& lines) noexcept : lines_(lines) {}

  // False when the input ended before the first field was answered.
  bool fill(google::protobuf::Message& message);

 private:
  bool fill_fields(google::protobuf::Message& message, const std::string& before, int depth);
  bool fill_oneof(google::protobuf::Message& message, const google::protobuf::OneofDescriptor& one,
                  const std::string& before, int depth);
  bool fill_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& before, int depth);
  // False at an empty answer.
  bool fill_value(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& before, int depth);
  // Asks until `take` does not throw; false at an empty answer.
  template <class Take>
  bool ask(const std::string& prompt, Take take);

  line_editor& lines_;
  bool ended_ = false;
  bool answered_ = false;
};

}  // namespace coracle::tools
