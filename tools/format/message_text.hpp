// message_text: converts messages from and to protobuf's text format, for types known at run time.
#pragma once

#include "tools/format/message_format.hpp"

#include <memory>

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::tools {

class schema;

// An Any of a known type is printed as [type URL] { its fields }. A field that the type does not define is
// printed by its number, and cannot be read back.
class message_text final : public message_format {
 public:
  // `types` and `type` must outlive this object.
  message_text(schema& types, const google::protobuf::Descriptor& type) : types_(types), type_(type) {}

  [[nodiscard]] std::string text(std::string_view bytes, bool indented) override;
  void add_lines(const message_batch& all, std::string& to, std::string& errors) override;
  [[nodiscard]] std::string bytes(std::string_view text) override;
  void add_messages(std::span<const std::string_view> texts, message_batch& to) override;

 private:
  schema& types_;
  const google::protobuf::Descriptor& type_;
};

}  // namespace coracle::tools
