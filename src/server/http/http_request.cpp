#include "coracle/server/http_request.hpp"

#include "coracle/base/usage_error.hpp"
#include "protocol/web/ascii.hpp"
#include "protocol/web/uri.hpp"
#include "server/http/http_request_data.hpp"

namespace coracle {

std::string_view http_request::method() const noexcept { return data_->method; }
std::string_view http_request::path() const noexcept {
  return protocol::web::split_target(data_->target).path;
}
std::string_view http_request::query() const noexcept {
  return protocol::web::split_target(data_->target).query;
}

std::optional<std::string> http_request::parameter(std::string_view name) const {
  using namespace protocol::web;
  std::string_view rest = query();
  query_pair pair;
  std::string decoded;
  while (take_query_pair(rest, pair)) {
    decoded.clear();
    if (!decode(pair.name, uri_part::query, decoded) || decoded != name) continue;
    decoded.clear();
    if (decode(pair.value, uri_part::query, decoded)) return decoded;
  }
  return std::nullopt;
}

std::string_view http_request::path_parameter(std::string_view name) const {
  for (const auto& [key, value] : data_->path_parameters)
    if (key == name) return value;
  throw usage_error("path_parameter(\"" + std::string(name) +
                    "\"): the path of the route has no variable with this name");
}

std::optional<std::string_view> http_request::header(std::string_view name) const {
  for (const auto& [key, value] : data_->headers)
    if (protocol::web::equal_ignoring_case(key, name)) return value;
  return std::nullopt;
}

const http::header_list& http_request::headers() const noexcept { return data_->headers; }
std::string_view http_request::authority() const noexcept { return data_->authority; }
std::string_view http_request::body() const noexcept { return data_->body; }
const net::address& http_request::peer() const noexcept { return data_->peer; }
const auth_context* http_request::auth() const noexcept { return data_->auth.get(); }
coro::stop_token http_request::drain_token() const noexcept { return data_->drain; }

}  // namespace coracle
