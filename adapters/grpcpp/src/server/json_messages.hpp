// json_messages: the messages of a method for clients that send and receive JSON.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <google/protobuf/descriptor.h>

#include <string_view>

namespace grpc::internal {

// The descriptor of the method with the path "/package.Service/Method"; null: the program is not linked with
// it.
[[nodiscard]] const google::protobuf::MethodDescriptor* linked_method(std::string_view path);

// Handlers have messages in protobuf's binary format. The descriptor is one that the program is linked with;
// null: it has none, and the functions fail with UNIMPLEMENTED. Any thread.
class json_messages {
 public:
  explicit json_messages(const google::protobuf::MethodDescriptor* method) noexcept : method_(method) {}
  // Whether there is a descriptor.
  [[nodiscard]] coracle::status usable() const;
  // Fails with INVALID_ARGUMENT if the text is no such message.
  [[nodiscard]] coracle::status read_request(coracle::bytes_message& changed) const;
  [[nodiscard]] coracle::status write_reply(coracle::bytes_message& changed) const;

 private:
  const google::protobuf::MethodDescriptor* method_;
};

}  // namespace grpc::internal
