#include "protocol/cors.hpp"

#include "base/printable.hpp"
#include "coracle/base/usage_error.hpp"
#include "http/field_rules.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/web/ascii.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace coracle::protocol {

namespace {

constexpr std::string_view allow_methods = "GET, HEAD, POST, PUT, PATCH, DELETE";

// What pages send for gRPC-Web, Connect and server-sent events, and is not safelisted by the Fetch Standard.
constexpr std::array<std::string_view, 14> protocol_request_headers{"accept",
                                                                    "content-type",
                                                                    connect::unary_encoding_header,
                                                                    connect::protocol_version_header,
                                                                    connect::timeout_header,
                                                                    connect::stream_encoding_header,
                                                                    connect::stream_accept_encoding_header,
                                                                    grpc::timeout_header,
                                                                    grpc::encoding_header,
                                                                    grpc::accept_encoding_header,
                                                                    "x-grpc-web",
                                                                    "x-user-agent",
                                                                    "cache-control",
                                                                    "last-event-id"};

constexpr std::array<std::string_view, 5> protocol_response_headers{
    grpc::status_header, grpc::message_header, grpc::status_details_header, grpc::retry_pushback_header,
    "retry-after"};

// Fields that pages may read without permission, or never ("CORS-safelisted response-header name", "forbidden
// response-header name"), and those of CORS itself.
bool needs_no_permission(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 8> fixed{
      "cache-control", "content-language", "content-length", "content-type",
      "expires",       "last-modified",    "pragma",         "set-cookie"};
  return name.empty() || name.front() == ':' || name.starts_with("access-control-") ||
         std::find(fixed.begin(), fixed.end(), name) != fixed.end();
}

bool list_has(std::string_view list, std::string_view name) noexcept {
  while (!list.empty())
    if (web::equal_ignoring_case(web::take_list_element(list), name)) return true;
  return false;
}

void append_to_list(std::string& list, std::string_view name) {
  if (list_has(list, name)) return;
  if (!list.empty()) list.append(", ");
  list.append(name);
}

void check_names(const std::vector<std::string>& names, std::string_view option) {
  for (const std::string& name : names) {
    if (!http::valid_token(name) || name == "*")
      base::throw_usage_error(("cors_policy: " + std::string(option) + ": \"" + base::printable(name) +
                               "\" is not the name of a header field")
                                  .c_str());
  }
}

}  // namespace

cors::cors(cors_policy policy)
    : policy_(std::move(policy)), max_age_(std::to_string(policy_.max_age.count())) {
  CORACLE_REQUIRE(!policy_.any_origin || !policy_.credentials,
                  "cors_policy: any_origin and credentials exclude each other; list the allowed origins");
  CORACLE_REQUIRE(policy_.max_age.count() >= 0, "cors_policy: max_age is negative; 0 disables the cache");
  for (const std::string& text : policy_.allowed_origins) {
    const auto parsed = web::parse_origin(text);
    if (!parsed || parsed->opaque)
      base::throw_usage_error(("cors_policy: allowed_origins: \"" + base::printable(text) +
                               "\" is not an origin such as \"https://app.example\"")
                                  .c_str());
  }
  check_names(policy_.allowed_headers, "allowed_headers");
  check_names(policy_.exposed_headers, "exposed_headers");
  for (const std::string_view name : protocol_request_headers) append_to_list(allow_headers_, name);
  for (const std::string& name : policy_.allowed_headers) append_to_list(allow_headers_, name);
  for (const std::string_view name : protocol_response_headers) append_to_list(expose_headers_, name);
  for (const std::string& name : policy_.exposed_headers) append_to_list(expose_headers_, name);
}

bool cors::is_own(const web::origin& from, const cors_request& request) const noexcept {
  const auto where = web::parse_host_port(request.authority);
  if (!where) return false;
  // Applications have origins such as "app://localhost", which are not a server's.
  if (request.scheme.empty() && !web::default_port(from.scheme)) return false;
  web::origin own;
  own.scheme = request.scheme.empty() ? from.scheme : request.scheme;
  own.where = *where;
  return web::same_origin(from, own);
}

bool cors::is_allowed(const web::origin& from) const noexcept {
  if (policy_.any_origin) return true;
  return std::any_of(policy_.allowed_origins.begin(), policy_.allowed_origins.end(),
                     [&](const std::string& text) {
                       const auto allowed = web::parse_origin(text);
                       return allowed && web::same_origin(*allowed, from);
                     });
}

cors_decision cors::decide(const cors_request& request) const noexcept {
  if (request.origin.empty()) {
    const bool cross_site = web::equal_ignoring_case(request.fetch_site, "cross-site");
    // Any page may then use the response, as the policy says.
    if (!cross_site || policy_.any_origin) return {};
    return {cors_verdict::refused, {}};
  }
  const auto from = web::parse_origin(request.origin);
  if (!from) return {cors_verdict::refused, {}};
  if (!from->opaque && is_own(*from, request)) return {};
  if (!is_allowed(*from)) return {cors_verdict::refused, {}};
  const std::string_view allow_origin = policy_.any_origin ? std::string_view("*") : request.origin;
  const bool preflight = request.method == "OPTIONS" && !request.request_method.empty();
  return {preflight ? cors_verdict::preflight : cors_verdict::allowed, allow_origin};
}

void cors::add_origin_fields(const cors_decision& decision, http::header_list& to) const {
  to.add("access-control-allow-origin", decision.allow_origin);
  if (policy_.credentials) to.add("access-control-allow-credentials", "true");
}

void cors::add_response_fields(const cors_decision& decision, std::span<const std::string_view> names,
                               http::header_list& to) const {
  // Also without Origin: a cache must not give a response without permission to a page of an allowed origin.
  if (!policy_.any_origin && !policy_.allowed_origins.empty()) to.add("vary", "Origin");
  if (decision.verdict != cors_verdict::allowed) return;
  add_origin_fields(decision, to);
  std::string exposed = expose_headers_;
  for (const std::string_view name : names)
    if (!needs_no_permission(name) && http::valid_token(name)) append_to_list(exposed, name);
  to.add("access-control-expose-headers", exposed);
}

void cors::add_preflight_fields(const cors_decision& decision, const cors_request& request,
                                http::header_list& to) const {
  to.add("vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  if (decision.verdict != cors_verdict::preflight) return;
  add_origin_fields(decision, to);
  to.add("access-control-allow-methods", allow_methods);
  std::string allowed = allow_headers_;
  if (policy_.any_header) {
    // Not "*", which would exclude authorization.
    std::string_view list = request.request_headers;
    while (!list.empty()) {
      const std::string_view name = web::take_list_element(list);
      if (http::valid_token(name) && !list_has(allow_headers_, name)) allowed.append(", ").append(name);
    }
  }
  to.add("access-control-allow-headers", allowed);
  to.add("access-control-max-age", max_age_);
}

}  // namespace coracle::protocol
