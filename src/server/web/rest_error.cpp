#include "server/web/rest_error.hpp"

#include "protocol/connect/content_type.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "protocol/web/accept.hpp"
#include "protocol/web/uri.hpp"
#include "rest/error_body.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::server_internal {

namespace {

// The reverse of web::to_http_status() does not exist: several codes have the same status, and 405 and 415
// are those of no code. These are the codes that grpc-gateway has in the same places.
status_code code_of(int http_status) noexcept {
  switch (http_status) {
    case 400:
    case 415: return status_code::invalid_argument;
    case 403:
    case 421: return status_code::permission_denied;
    case 404: return status_code::not_found;
    case 405: return status_code::unimplemented;
    case 413: return status_code::resource_exhausted;
    case 503: return status_code::unavailable;
    default: return http_status < 500 ? status_code::failed_precondition : status_code::internal;
  }
}

// "connect=v1" is optional; without it, a request has an encoding and a message, which a request of REST may
// have, too, but rarely both.
bool has_connect_parameters(std::string_view query) noexcept {
  bool has_message = false;
  bool has_encoding = false;
  protocol::web::query_pair pair;
  while (protocol::web::take_query_pair(query, pair)) {
    if (pair.name == "connect") return true;
    has_message = has_message || pair.name == "message";
    has_encoding = has_encoding || pair.name == "encoding";
  }
  return has_message && has_encoding;
}

}  // namespace

bool may_be_rest(const request_info& r, const metadata& fields, const router& routes) {
  namespace connect = protocol::connect;
  if (r.row || r.type == request_info::content::grpc) return false;
  const std::string_view type = r.other_content_type;
  if (protocol::grpc::content_subtype(type) || protocol::grpc_web::parse_content_type(type)) return false;
  if (fields.find(connect::protocol_version_header)) return false;
  // JSON is the form of both Connect and REST.
  if (const auto c = connect::parse_content_type(type);
      c && (c->stream || (c->codec != connect::json_codec && routes.connect_subtypes.find(c->codec))))
    return false;
  return r.method != request_info::verb::get ||
         !has_connect_parameters(protocol::web::split_target(r.unknown_path).query);
}

void use_rest_form(direct_response& response, const metadata& fields) {
  if (response.status < 400) return;
  response.field("vary", "accept");
  using protocol::web::accepted_weight;
  const std::vector<std::string_view> accept = fields.find_all("accept");
  const int text_weight =
      std::max(accepted_weight(accept, "text", "plain"), accepted_weight(accept, "text", "html"));
  if (text_weight > accepted_weight(accept, "application", "json")) return;
  std::string message = std::move(response.body);
  if (message.ends_with('\n')) message.pop_back();
  response.body.clear();
  rest::write_error_body(status(code_of(response.status), std::move(message)), response.body);
  response.field("content-type", "application/json");
}

}  // namespace coracle::server_internal
