#include "tools/call/messages.hpp"

#include "tools/failure.hpp"
#include "tools/json/message_json.hpp"

#include <memory>

namespace coracle::tools {

namespace pb = google::protobuf;

bytes_message messages::request(std::string_view json) const {
  const auto message = types_.make(*method_.input_type());
  from_json(json, *message);
  return bytes_message(message->SerializeAsString());
}

std::string messages::request_json(const bytes_message& bytes) const {
  return text(*method_.input_type(), bytes, false);
}

std::string messages::reply(const bytes_message& bytes) const {
  return text(*method_.output_type(), bytes, !method_.server_streaming());
}

std::string messages::reply_line(const bytes_message& bytes) const {
  return text(*method_.output_type(), bytes, false);
}

std::string messages::text(const pb::Descriptor& type, const bytes_message& bytes, bool indented) const {
  const auto message = types_.make(type);
  if (!message->ParseFromString(bytes.bytes()))
    throw failure("a message is no " + std::string(type.full_name()) +
                  ": are the definitions those of the server?");
  return to_json(*message, indented);
}

}  // namespace coracle::tools
