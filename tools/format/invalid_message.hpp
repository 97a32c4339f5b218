// invalid_message: the error for a text that is no message, with the place in the text.
#pragma once

#include "tools/failure.hpp"

#include <coracle/rpc/impl/json_check.hpp>

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools {

// Counted from 1. 0: the place is not known.
struct text_place {
  std::size_t line = 0, column = 0;
};

class invalid_message : public failure {
 public:
  // The column of `at` counts bytes.
  invalid_message(std::string_view text, const google::protobuf::Descriptor& type, text_place at,
                  const std::string& reason, std::string hint = "`coracle describe` shows its fields");
  // The column counts characters.
  [[nodiscard]] text_place place() const noexcept { return at_; }
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  // The line of the text, and a caret below the place; both begin with a line end and two spaces. A long line
  // is cut around the place. Without a place, the beginning of the text.
  [[nodiscard]] const std::string& excerpt() const noexcept { return excerpt_; }

 private:
  text_place at_;
  std::string reason_, excerpt_;
};

// For valid JSON that protobuf's mapping refused for this reason.
[[nodiscard]] invalid_message refused_json(std::string_view json, const google::protobuf::Descriptor& type,
                                           const rpc::json_fault& fault);

// For JSON that rpc::check_json_text() refused with this message.
[[nodiscard]] invalid_message broken_json(std::string_view json, const google::protobuf::Descriptor& type,
                                          const std::string& message);

}  // namespace coracle::tools
