// web_call: recognizes requests of gRPC-Web, Connect and REST, and prepares their calls; finds plain routes.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/web_options.hpp"
#include "server/call/call_request.hpp"
#include "server/call/server_call.hpp"
#include "server/http/http_routes.hpp"
#include "server/router.hpp"
#include "server/web/direct_response.hpp"
#include "server/web/unary_web_exchange.hpp"
#include "transport/exchange.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace coracle::server_internal {

// A call that a request of another protocol begins.
struct web_call {
  transport::exchange exchange;  // for the call; owns the HTTP exchange
  call_request request;
  std::unique_ptr<fallback_call> fallback;
  received_metadata received;
  web_exchange* translator = nullptr;  // behind the exchange
  status refusal;  // not OK: no handler runs, and the call ends with this
  // A request that has arrived entirely: it is given to `whole` when the call has begun.
  whole_request* whole = nullptr;
  std::optional<std::string> message;
};

// A request for a plain route.
struct plain_request {
  const http_routes::plain_route* route;
  protocol::rest::route_match match;  // borrows the path from the request_info
};

struct web_call_options {
  const router& routes;
  const http_routes& http;
  call_set& set;
  const web_options& web;
};

// Returns nothing if the request makes no call and has no route, and a response if it needs no call. Takes
// over `x` if it returns a call, and takes what it needs of the other arguments; it leaves them unchanged
// otherwise. May throw std::bad_alloc, and has taken nothing then.
[[nodiscard]] std::optional<std::variant<web_call, direct_response, plain_request>> prepare_web_call(
    const transport::exchange& x, request_info& r, received_metadata& received, const web_call_options& o,
    bool end_stream);

}  // namespace coracle::server_internal
