#include "client/attempt_result.hpp"

#include "base/if_memory_allows.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "rpc/message_format.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace coracle::client {

namespace {

status http_error(status_code code, int http_status, const char* then) noexcept {
  char text[128];
  std::snprintf(text, sizeof text, "the server answered with HTTP status %d%s", http_status, then);
  return {code, text};
}

}  // namespace

status status_of_trailers(const protocol::grpc::response_headers& last, int http_status) {
  if (last.has_status) return {last.code, last.message, last.details};
  if (http_status != 200) return http_error(protocol::grpc::from_http_status(http_status), http_status, "");
  return status::unknown("the server ended the call without a grpc-status");
}

status status_of_non_grpc_response(const protocol::grpc::response_headers& headers) {
  const status_code code = headers.http_status == 200 ? status_code::unknown
                                                      : protocol::grpc::from_http_status(headers.http_status);
  return http_error(code, headers.http_status, " and a content-type other than application/grpc");
}

status status_of_reset(const transport::abnormal_end& e) {
  if (e.unprocessed && !e.disconnected)
    return status::unavailable(
        "the server did not accept the call: it is shutting down or at its limit of streams");
  if (e.by == transport::initiator::user && !e.disconnected) return rpc::out_of_memory();
  if (e.disconnected) return status::unavailable(e.reason.empty() ? "the connection was lost" : e.reason);
  std::string text;
  base::if_memory_allows([&] {
    const bool by_peer = e.by == transport::initiator::peer;
    text = by_peer ? "the server reset the call" : "the server violated HTTP";
    if (!e.reason.empty()) text.append(": ").append(e.reason);
  });
  return {protocol::grpc::from_reset_code(static_cast<std::uint32_t>(e.code)), text};
}

}  // namespace coracle::client
