// message_json: converts messages from and to JSON text, by protobuf's mapping, for types known at run time.
#pragma once

#include "tools/json/message_batch.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::tools {

class schema;

// Converts serialized messages of one type. Use it on one thread at a time, and not on a loop: it may block
// to query the server for the types of `Any`. An Any of an unknown type, or whose bytes are not of its type,
// is printed as {"@type": URL, "@error": reason, "@value": its bytes in base64}.
class message_json {
 public:
  // Whether fields without a value are written, with the default of their type.
  enum class absent_fields : bool { omitted, written };
  // `types` and `type` must outlive this object.
  message_json(schema& types, const google::protobuf::Descriptor& type,
               absent_fields absent = absent_fields::omitted);
  ~message_json();

  // Returns the JSON text, on one line or indented over several. Throws failure for bytes that are not such a
  // message, and for a message that has no JSON form (a timestamp in the year 10000).
  [[nodiscard]] std::string text(std::string_view bytes, bool indented);
  // Adds a line for each message to `to`. If text() would throw for a message, adds the error as a line to
  // `errors` instead.
  void add_lines(const message_batch& all, std::string& to, std::string& errors);

  // Throws failure for text that is not such a message. An unknown field name is a failure: most are typing
  // errors.
  [[nodiscard]] std::string bytes(std::string_view json);
  // Adds a message for each text. If bytes() throws for one, those before it have been added.
  void add_messages(std::span<const std::string_view> texts, message_batch& to);

 private:
  class known_types;
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make() const;
  [[nodiscard]] std::string as_parsed(std::string_view bytes) const;
  [[nodiscard]] bool add_lines_at_once(const message_batch& all, std::string& to);

  schema& types_;
  const google::protobuf::Descriptor& type_;
  const absent_fields absent_;
  std::unique_ptr<known_types> known_;
};

void from_json(std::string_view text, google::protobuf::Message& into);

}  // namespace coracle::tools
