// rest_binding: reads a request message from path, query and body of an HTTP request, and writes the reply.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "rest/http_rule.hpp"
#include "rpc/json_syntax.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
class MethodDescriptor;
}  // namespace google::protobuf

namespace coracle::rest {

struct rest_options {
  // Replies name fields as the .proto does ("movie_id"), not in camelCase. Requests may use either.
  bool proto_field_names = false;
  // Replies contain fields without presence even if they have their default value.
  bool emit_defaults = false;
  bool enums_as_numbers = false;
  // Whether a query parameter, or a field in JSON, that the message does not have is ignored. Otherwise it
  // is an error.
  bool ignore_unknown_parameters = false;
  bool ignore_unknown_fields = false;
};

// Borrowed parts of an HTTP request.
struct rest_request {
  std::span<const std::string_view> path_values;  // route_match::raw_values()
  std::string_view query;  // without '?'
  std::string_view content_type;  // for google.api.HttpBody only
  bytes_view body;
  rpc::json_cost* cost = nullptr;  // of reading the body
};

struct rest_reply {
  std::string content_type;
  std::string body;
};

// One rule of one method, checked against its messages. Immutable: threads may share it. The descriptors must
// outlive it.
class rest_binding {
 public:
  // The names in a path a.b.c: each one makes a message within the last.
  static constexpr std::size_t field_depth_max = 32;

  // Fails with INVALID_ARGUMENT, and names the method and the field, unless each variable of the path names
  // a singular scalar, enum or wrapper field, `body` a field of the request or "*", and `response_body` a
  // field of the response.
  [[nodiscard]] static result<rest_binding> make(const google::protobuf::MethodDescriptor& method,
                                                 http_rule rule, rest_options options = {});

  [[nodiscard]] const http_rule& rule() const noexcept { return rule_; }
  [[nodiscard]] const google::protobuf::MethodDescriptor& method() const noexcept { return *method_; }
  // The body is that of google.api.HttpBody: any content type, raw bytes. Otherwise it is JSON.
  [[nodiscard]] bool has_raw_request() const noexcept { return raw_request_; }
  [[nodiscard]] bool has_raw_reply() const noexcept { return raw_reply_; }
  // The fields that the variables of the path name, each with the messages above it.
  [[nodiscard]] const std::vector<std::vector<const google::protobuf::FieldDescriptor*>>& path_fields()
      const noexcept {
    return path_fields_;
  }
  // Null for "*" and for no body.
  [[nodiscard]] const google::protobuf::FieldDescriptor* body_field() const noexcept { return body_field_; }
  // Null for the whole message.
  [[nodiscard]] const google::protobuf::FieldDescriptor* response_field() const noexcept {
    return response_field_;
  }
  // Without a body in the rule, a request must have none.
  [[nodiscard]] bool takes_body() const noexcept { return !rule_.body.empty(); }

  // Clears `request`, which must be of the method's input type, and reads it: the body, then the query,
  // then the path, whose variables override the body. For a client stream it is called with each message: a
  // line of JSON, or the next bytes of an upload. The status is INVALID_ARGUMENT and names the field or the
  // parameter.
  //
  // Query parameters name fields as the .proto or JSON does, nested ones with dots: a.b.c=1. A repeated
  // field takes each parameter of its name; for others two are an error. Enums are read by name or number,
  // bytes as base64 of both alphabets; Timestamp, Duration, FieldMask and wrappers as in JSON, but without
  // quotes. Maps and other messages cannot be parameters, nor can fields that the path or the body sets.
  [[nodiscard]] status read_request(const rest_request& from, google::protobuf::Message& request) const;

  // Writes a reply: the whole message or the field of response_body, as JSON or, of google.api.HttpBody, its
  // bytes. A message of a stream is written the same way.
  [[nodiscard]] status write_reply(const google::protobuf::Message& reply, rest_reply& to) const;

 private:
  using field_path = std::vector<const google::protobuf::FieldDescriptor*>;
  class reader;

  rest_binding() = default;

  const google::protobuf::MethodDescriptor* method_ = nullptr;
  http_rule rule_;
  rest_options options_;
  std::vector<field_path> path_fields_;  // of rule_.path.variables()
  const google::protobuf::FieldDescriptor* body_field_ = nullptr;  // null for "*" and for no body
  const google::protobuf::FieldDescriptor* response_field_ = nullptr;  // null for the whole message
  bool raw_request_ = false;
  bool raw_reply_ = false;
};

}  // namespace coracle::rest
