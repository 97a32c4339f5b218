// message_json: converts messages from and to JSON text, by protobuf's mapping, for types known at run time.
#pragma once

#include "tools/format/message_format.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::tools {

class schema;

// An Any of an unknown type, or whose bytes are not of its type, is printed as {"@type": URL, "@error":
// reason, "@value": its bytes in base64}.
class message_json final : public message_format {
 public:
  struct options {
    bool write_absent_fields = false;  // fields without a value are printed with the default of their type
    bool ignore_unknown_fields = false;  // when reading; otherwise a failure, because most are typing errors
  };
  // `types` and `type` must outlive this object.
  message_json(schema& types, const google::protobuf::Descriptor& type)
      : message_json(types, type, options()) {}
  message_json(schema& types, const google::protobuf::Descriptor& type, options o);
  ~message_json() override;

  // On one line, or indented over several. A timestamp in the year 10000, for example, has no JSON form.
  [[nodiscard]] std::string text(std::string_view bytes, bool indented) override;
  // One line for each message.
  void add_lines(const message_batch& all, std::string& to, std::string& errors) override;
  [[nodiscard]] std::string bytes(std::string_view json) override;
  void add_messages(std::span<const std::string_view> texts, message_batch& to) override;

 private:
  class known_types;
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make() const;
  [[nodiscard]] std::string as_parsed(std::string_view bytes) const;
  [[nodiscard]] bool add_lines_at_once(const message_batch& all, std::string& to);

  schema& types_;
  const google::protobuf::Descriptor& type_;
  const options options_;
  std::unique_ptr<known_types> known_;
};

void from_json(std::string_view text, google::protobuf::Message& into);

}  // namespace coracle::tools
