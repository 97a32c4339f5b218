// messages: a method's requests and replies, between JSON and what travels.
#pragma once

#include "tools/schema/schema.hpp"

#include <coracle/rpc/bytes_message.hpp>

#include <string>
#include <string_view>

namespace coracle::tools {

// For plain threads: a type may have to be asked of the server. Both must outlive it.
class messages {
 public:
  messages(schema& types, const google::protobuf::MethodDescriptor& method) noexcept
      : types_(types), method_(method) {}

  // Throws failure for text that is no request of the method's.
  [[nodiscard]] bytes_message request(std::string_view json) const;
  [[nodiscard]] std::string request_json(const bytes_message& bytes) const;
  // Of a method with one reply over several lines, else on one. Throws failure for bytes that are no reply.
  [[nodiscard]] std::string reply(const bytes_message& bytes) const;
  [[nodiscard]] std::string reply_line(const bytes_message& bytes) const;

 private:
  [[nodiscard]] std::string text(const google::protobuf::Descriptor& type, const bytes_message& bytes,
                                 bool indented) const;
  schema& types_;
  const google::protobuf::MethodDescriptor& method_;
};

}  // namespace coracle::tools
