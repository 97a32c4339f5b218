// field_prompts: prompts for the fields of a message, one by one.
#pragma once

#include "tools/repl/line_editor.hpp"

#include <google/protobuf/message.h>

#include <string>

namespace coracle::tools {

// An empty answer leaves a field unset, or ends the elements of a repeated one. An answer that is not a value
// of the field's type is prompted for again, or throws failure if the input is not interactive. Strings and
// bytes are taken literally.
class field_prompts {
 public:
  explicit field_prompts(line_editor& lines) noexcept : lines_(lines) {}

  // Returns false if the input ended before the first field was answered.
  bool fill(google::protobuf::Message& message);

 private:
  bool fill_fields(google::protobuf::Message& message, const std::string& before, int depth);
  bool fill_oneof(google::protobuf::Message& message, const google::protobuf::OneofDescriptor& one,
                  const std::string& before, int depth);
  bool fill_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& before, int depth);
  // Returns false for an empty answer.
  bool fill_value(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& before, int depth);
  // Prompts until `take` does not throw; returns false for an empty answer.
  template <class Take>
  bool ask(const std::string& prompt, Take take);

  line_editor& lines_;
  bool ended_ = false;
  bool answered_ = false;
};

}  // namespace coracle::tools
