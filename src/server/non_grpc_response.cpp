#include "server/non_grpc_response.hpp"

#include "server/http_response_headers.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle::server_internal {

namespace {

using verb = request_info::verb;

struct non_grpc_response {
  int status;
  std::string_view content_type;
  std::string_view body;
  std::string_view header_name = {};  // a further field, such as Allow of a 405 (RFC 9110 15.5.6)
  std::string_view header_value = {};
};

// Contains neither methods nor a version: everyone who can connect may read it, even if the interceptors
// would reject a call.
constexpr std::string_view page = "<!doctype html>\n<title>Coracle</title>\n<p>A gRPC server.</p>\n";

non_grpc_response response_to(const request_info& request) {
  const bool reads = request.method == verb::get || request.method == verb::head;
  if (reads && request.root_path) return {200, "text/html; charset=utf-8", page};
  if (reads && !request.row) return {404, "text/plain", "no such page; gRPC calls are POST requests\n"};
  if (request.method == verb::post)
    return {415, "text/plain",
            "a call requires a content-type of gRPC (application/grpc), gRPC-Web (application/grpc-web) or "
            "Connect (application/proto, application/connect+proto), with a registered codec\n"};
  return {405, "text/plain", "a gRPC call is a POST request, a page a GET request\n", "allow",
          request.root_path ? "GET, HEAD" : "POST"};
}

void send(transport::exchange& x, const request_info& request, const non_grpc_response& a,
          const cross_origin* permission, http::header_list fields = {}) {
  // RFC 9110 9.3.2: the fields of a GET, and no content
  const bool headers_only = request.method == verb::head;
  fields.add("content-type", a.content_type);
  if (!a.header_name.empty()) fields.add(a.header_name, a.header_value);
  write_response_headers(x, a.status, fields, a.body.size(), permission, headers_only);
  if (headers_only) return;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[a.body.size()]);
  std::memcpy(bytes.get(), a.body.data(), a.body.size());
  x.queue_data(std::move(bytes), a.body.size(), true);
}

// Drops the body of a request that has its response. Owns itself.
class responded_request final : public transport::exchange_handler {
 public:
  explicit responded_request(transport::exchange x) : exchange_(x) { exchange_.set_handler(this); }

 private:
  void on_headers(transport::header_source& fields, transport::block_kind,
                  bool end_stream) noexcept override {
    transport::field unused;
    while (fields.next(unused)) continue;
    if (fields.ok() && end_stream) end();
  }
  void on_data(bytes_view bytes, bool end_stream) noexcept override {
    exchange_.consume(bytes.size());
    if (end_stream) end();
  }
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override { end(); }
  void end() {
    exchange_.release();
    delete this;
  }
  transport::exchange exchange_;
};

}  // namespace

namespace {

void respond_with(transport::exchange x, const request_info& request, const non_grpc_response& a,
                  const cross_origin* permission, bool end_stream, http::header_list fields = {}) {
  send(x, request, a, permission, std::move(fields));
  if (end_stream || request.type != request_info::content::none) return x.release();
  new responded_request(x);
}

}  // namespace

void respond_non_grpc(transport::exchange x, const request_info& request, const cross_origin* permission,
                      bool end_stream) {
  respond_with(x, request, response_to(request), permission, end_stream);
}

void respond(transport::exchange x, const request_info& request, const web_rejection& rejection,
             bool end_stream) {
  http::header_list fields;
  if (!rejection.allow.empty()) fields.add("allow", rejection.allow);
  if (rejection.http_status == 204)
    return respond_no_content(x, fields, rejection.cross_origin.get(), end_stream);
  respond_with(
      x, request,
      {rejection.http_status, "text/plain", rejection.text, rejection.header_name, rejection.header_value},
      rejection.cross_origin.get(), end_stream, std::move(fields));
}

void respond_no_content(transport::exchange x, const http::header_list& fields,
                        const cross_origin* permission, bool end_stream) {
  write_response_headers(x, 204, fields, std::nullopt, permission, true);
  if (end_stream) return x.release();
  new responded_request(x);
}

}  // namespace coracle::server_internal
