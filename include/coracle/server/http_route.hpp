// http_route: a path and a method of plain HTTP, and the handler of its requests.
#pragma once

#include "coracle/coro/task.hpp"
#include "coracle/server/http_request.hpp"
#include "coracle/server/http_response.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// Handles the requests of a route, on the loop of the connection. A coroutine, or a function that returns
/// one. It runs when the body has arrived.
///
/// It has no deadline; when the client disconnects or resets the request, its stop token stops, and its next
/// wait throws coro::cancelled. An exception becomes 500: the client does not see its text, the log does. The
/// server keeps the handler, so that a coroutine may use the captures of its lambda.
using http_handler = std::function<task<http_response>(http_request)>;

/// A route of server::add_http(). A value type: set the members that differ from the defaults.
class http_route {
 public:
  /// GET of no path: set `path` and `handler`.
  http_route() noexcept {}
  /// Sets `method`, `path` and `handler`.
  http_route(std::string_view http_method, std::string_view path_template, http_handler h)
      : method(http_method), path(path_template), handler(std::move(h)) {}

  /// GET, POST, PUT, PATCH or DELETE. The server also answers HEAD for a path of GET, and OPTIONS for each
  /// path.
  std::string method = "GET";
  /// The path: "/health", "/movies/{id}/poster", "/files/{name=**}". A variable without a pattern is one
  /// segment; `**` is the rest of the path, which may be empty. If several routes match, the most specific
  /// one is used: a literal segment before a variable before `**`.
  std::string path;
  /// Answers the requests; must be set.
  http_handler handler;
  /// The maximum size of a request's body in bytes; 413 above it. Default: 4 MiB.
  std::size_t max_body_bytes = std::size_t{4} << 20;
  /// The media types that the body may have, such as "application/json"; 415 for others, and for a body
  /// without a type. Default: empty, any type but those that a web page of another site can send without the
  /// server's permission: application/x-www-form-urlencoded, multipart/form-data and text/plain (Fetch
  /// Standard 2.2.2). A route that names one of these needs another protection against such pages where
  /// browsers do not send Origin.
  std::vector<std::string> content_types;
};
static_assert(!std::is_aggregate_v<http_route>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
