// http_request_data: the content of a request of plain HTTP, which its http_request objects share.
#pragma once

#include "coracle/coro/stop_token.hpp"
#include "coracle/http/header_list.hpp"
#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::server_internal {

// Does not change once the handler has begun.
struct http_request_data {
  std::string_view method;  // static storage
  std::string target;  // the path, and the query after '?'
  std::string authority;
  http::header_list headers;
  std::vector<std::pair<std::string, std::string>> path_parameters;  // decoded
  std::string body;
  net::address peer;
  std::shared_ptr<const auth_context> auth;
  coro::stop_token drain;
};

}  // namespace coracle::server_internal
