// messages: converts a method's requests and replies between JSON and the wire format.
#pragma once

#include "tools/json/message_json.hpp"
#include "tools/schema/schema.hpp"

namespace coracle::tools {

// May block to query the server for a type, so do not use it on a loop. One thread at a time may convert
// requests, and another one replies. Both arguments must outlive this object.
struct messages {
  messages(schema& types, const google::protobuf::MethodDescriptor& method,
           message_json::absent_fields absent = message_json::absent_fields::omitted)
      : requests(types, *method.input_type()),
        replies(types, *method.output_type(), absent),
        reply_is_indented(!method.server_streaming()) {}

  message_json requests;
  message_json replies;
  const bool reply_is_indented;  // a single reply is printed over several lines
};

}  // namespace coracle::tools
