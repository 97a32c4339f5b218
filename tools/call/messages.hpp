// messages: a method's requests and replies, between JSON and what travels.
#pragma once

#include "tools/json/message_json.hpp"
#include "tools/schema/schema.hpp"

namespace coracle::tools {

// For plain threads: a type may have to be asked of the server. One thread at a time may convert requests, another one
// replies. Both must outlive it.
struct messages {
  messages(schema& types, const google::protobuf::MethodDescriptor& method)
      : requests(types, *method.input_type()),
        replies(types, *method.output_type()),
        reply_is_indented(!method.server_streaming()) {}

  message_json requests;
  message_json replies;
  const bool reply_is_indented;  // that of a method with one reply is printed over several lines
};

}  // namespace coracle::tools
