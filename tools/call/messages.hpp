// messages: converts a method's requests and replies between text and the wire format.
#pragma once

#include "tools/format/message_json.hpp"
#include "tools/format/message_text.hpp"
#include "tools/schema/schema.hpp"

#include <memory>

namespace coracle::tools {

enum class message_syntax : bool { json, text };

// May block to query the server for a type, so do not use it on a loop. One thread at a time may convert
// requests, and another one replies. Both arguments must outlive this object.
struct messages {
  messages(schema& types, const google::protobuf::MethodDescriptor& method,
           message_syntax syntax = message_syntax::json, message_json::options json = {})
      : requests(make(types, *method.input_type(), syntax, json)),
        replies(make(types, *method.output_type(), syntax, json)) {}

  std::unique_ptr<message_format> requests;
  std::unique_ptr<message_format> replies;

 private:
  static std::unique_ptr<message_format> make(schema& types, const google::protobuf::Descriptor& type,
                                              message_syntax syntax, message_json::options json) {
    if (syntax == message_syntax::text) return std::make_unique<message_text>(types, type);
    return std::make_unique<message_json>(types, type, json);
  }
};

}  // namespace coracle::tools
