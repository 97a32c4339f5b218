#include "naming/http_api.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/version.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/rest_methods.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/server_list.hpp"
#include "rpc/proto_wire.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <utility>

namespace coracle::naming {

namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

constexpr char get_method[] = "/coracle.naming.Http/Get";
constexpr char put_method[] = "/coracle.naming.Http/Put";
constexpr char stream_method[] = "/coracle.naming.Http/Stream";
constexpr int path_number = 1;
constexpr int first_parameter_number = 2;
constexpr int body_number = 100;

void add_http_field(google::protobuf::DescriptorProto& to, std::string_view name, int number,
                    FieldDescriptorProto::Type type) {
  FieldDescriptorProto& field = *to.add_field();
  field.set_name(std::string(name));
  field.set_number(number);
  field.set_type(type);
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
}

// A service whose replies are bodies as they are. It is described here rather than in a .proto because
// generated code would register google.api.HttpBody a second time in programs that have it.
const google::protobuf::ServiceDescriptor* describe_http(DescriptorPool& pool) {
  FileDescriptorProto file;
  file.set_name("google/api/httpbody.proto");
  file.set_package("google.api");
  file.set_syntax("proto3");
  auto& body = *file.add_message_type();
  body.set_name("HttpBody");
  add_http_field(body, "content_type", 1, FieldDescriptorProto::TYPE_STRING);
  add_http_field(body, "data", 2, FieldDescriptorProto::TYPE_BYTES);
  pool.BuildFile(file);

  file.Clear();
  file.set_name("coracle/naming/http.proto");
  file.set_package("coracle.naming");
  file.set_syntax("proto3");
  file.add_dependency("google/api/httpbody.proto");
  auto& request = *file.add_message_type();
  request.set_name("HttpRequest");
  add_http_field(request, "path", path_number, FieldDescriptorProto::TYPE_STRING);
  int number = first_parameter_number;
  for (const std::string_view name : http_parameters)
    add_http_field(request, name, number++, FieldDescriptorProto::TYPE_STRING);
  add_http_field(request, "body", body_number, FieldDescriptorProto::TYPE_MESSAGE);
  request.mutable_field(request.field_size() - 1)->set_type_name(".google.api.HttpBody");
  auto& service = *file.add_service();
  service.set_name("Http");
  for (const char* const name : {"Get", "Put", "Stream"}) {
    auto& method = *service.add_method();
    method.set_name(name);
    method.set_input_type(".coracle.naming.HttpRequest");
    method.set_output_type(".google.api.HttpBody");
    method.set_server_streaming(std::string_view(name) == "Stream");
  }
  return pool.BuildFile(file)->service(0);
}

const rest_methods& http_methods() {
  // Never destroyed: channels may live until the program exits.
  static const rest_methods& methods = *new rest_methods(
      rest_methods::make({describe_http(*new DescriptorPool())},
                         R"({"http":{"rules":[{"selector":"coracle.naming.Http.Get","get":"/{path=**}"},
                             {"selector":"coracle.naming.Http.Put","put":"/{path=**}","body":"body"},
                             {"selector":"coracle.naming.Http.Stream","get":"/{path=**}"}]}})")
          .value());
  return methods;
}

channel make_http_channel(const std::string& server, const channel_credentials& credentials,
                          std::shared_ptr<http_observer> observer) {
  channel_options o;
  o.user_agent = std::string("coracle-naming/") + version_text;
  o.protocol = call_protocol::rest;
  o.http_version = http_version::http1;
  o.http1_connections_per_server = 1;
  o.rest = http_methods();
  o.retries = false;
  o.proxy.emplace();  // a registry is near, and a proxy would see its tokens
  o.http_observer = std::move(observer);
  return {loop::current()->owner(), server, credentials, std::move(o)};
}

// The data of a google.api.HttpBody.
std::string data_of(std::string_view http_body) {
  rpc::proto_reader fields(http_body);
  while (fields.next())
    if (fields.field() == 2) return std::string(fields.text());
  return {};
}

}  // namespace

http_request& http_request::set(std::string_view name, std::string_view value) {
  const auto at = std::ranges::find(http_parameters, name) - http_parameters.begin();
  CORACLE_ASSERT(static_cast<std::size_t>(at) < http_parameters.size(),
                 "a parameter is not in http_parameters");
  if (!value.empty()) rpc::put_text(fields_, static_cast<std::uint32_t>(first_parameter_number + at), value);
  return *this;
}

http_request& http_request::body(std::string_view json) {
  std::string http_body;
  rpc::put_text(http_body, 1, "application/json");
  rpc::put_text(http_body, 2, json);
  rpc::put_text(fields_, static_cast<std::uint32_t>(body_number), http_body);
  return *this;
}

http_request& http_request::header(std::string name, std::string value) {
  if (!value.empty()) headers_.emplace_back(std::move(name), std::move(value));
  return *this;
}

void http_head::response_headers(const http::header_list& fields, http_version) noexcept {
  code = 0;
  for (const char c : fields.find(":status").value_or("")) code = code * 10 + (c - '0');
  filtered = fields.find("x-consul-results-filtered-by-acls").value_or("") == "true";
  base::if_memory_allows([&] { index = fields.find("x-consul-index").value_or(""); });
}

http_api::http_api(const std::string& server, const channel_credentials& credentials)
    : channel_(make_http_channel(server, credentials, head_)) {}

bytes_message http_api::begin(const http_request& r, duration timeout, call_options& options) {
  head_->code = 0;
  head_->index.clear();
  head_->filtered = false;
  options.timeout = timeout;
  options.max_receive_bytes = static_cast<std::uint32_t>(document_bytes_max);
  for (const auto& [name, value] : r.headers_) options.add_metadata(name, value);
  std::string encoded;
  rpc::put_text(encoded, path_number, r.path_);
  return bytes_message(encoded + r.fields_);
}

task<result<std::string>> http_api::get(const http_request& r, duration timeout) {
  return call(get_method, r, timeout);
}

task<result<std::string>> http_api::put(const http_request& r, duration timeout) {
  return call(put_method, r, timeout);
}

task<result<std::string>> http_api::call(const char* method, const http_request& r, duration timeout) {
  call_options options;
  const bytes_message request = begin(r, timeout, options);
  const generic_stub stub(channel_);
  const result<bytes_message> reply = co_await stub.unary(method, request, options);
  if (!reply.ok()) co_return reply.status();
  co_return data_of(reply->bytes());
}

http_api::body_stream http_api::stream(const http_request& r, duration timeout) {
  call_options options;
  const bytes_message request = begin(r, timeout, options);
  return body_stream(generic_stub(channel_).server_streaming(stream_method, request, options));
}

task<result<std::optional<std::string>>> http_api::body_stream::next(duration silence) {
  co_await call_.start();  // here, because below it would inherit the end of `silence` as its deadline
  const result<std::optional<bytes_message>> reply = co_await with_timeout(silence, call_.next());
  if (!reply.ok()) co_return reply.status();
  if (!reply->has_value()) co_return std::optional<std::string>();
  co_return std::optional<std::string>(data_of((*reply)->bytes()));
}

}  // namespace coracle::naming
