// direct_response: responses to requests that reach neither a method nor a handler.
#pragma once

#include "coracle/http/header_list.hpp"
#include "coracle/server/web_options.hpp"
#include "server/router.hpp"
#include "server/web/web_access.hpp"
#include "transport/exchange.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace coracle::server_internal {

// A complete response of plain HTTP.
struct direct_response {
  int status;
  std::string body{};  // text/plain, unless the fields name another type
  http::header_list fields{};
  std::unique_ptr<cross_origin> permission{};  // see write_response_headers(); may be null

  direct_response& field(std::string_view name, std::string_view value) & {
    fields.add(name, value);
    return *this;
  }
  direct_response&& field(std::string_view name, std::string_view value) && {
    return std::move(field(name, value));
  }
};

// The response to a request that no protocol and no route has. GET / gets a static page that says that this
// is a gRPC server; it names no services, because interceptors do not check such a request. Any other request
// gets 404, 405, or 415 for a POST with an unsupported content-type, with those that the port supports.
// `rest`: it may be a request of REST, whose path is what is wrong whatever its method.
[[nodiscard]] direct_response response_without_route(const request_info& request, const router& routes,
                                                     const web_options& web, bool is_http1, bool rest);

// Sends the response, and takes `x` over. HEAD gets the headers alone.
//
// The whole response is sent at once, END_STREAM included: a client that streams its body may wait for the
// response before it continues. If more of the body may follow, RST_STREAM(NO_ERROR) is sent after the
// response (RFC 9113 8.1). A request without a content-type has a moment to end before that, in which its
// body is dropped and still checked for errors. HTTP/1.1 drops the rest of a body by itself
// (http1::limits::drain_bytes).
void respond(transport::exchange x, const request_info& request, const direct_response& response,
             bool end_stream);

}  // namespace coracle::server_internal
