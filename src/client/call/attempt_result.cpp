#include "client/call/attempt_result.hpp"

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

status status_in(const protocol::grpc::response_headers& last, int http_status) {
  if (last.has_status) return {last.code, last.message, last.details};
  if (http_status != 200) return http_error(protocol::grpc::from_http_status(http_status), http_status, "");
  return status::unknown("the server ended the call without a grpc-status");
}

}  // namespace

status status_of_trailers(const protocol::grpc::response_headers& last, int http_status) {
  status found = status_in(last, http_status);
  if (last.too_large_bytes == 0) [[likely]]
    return found;
  return outcome_without_fields(found, "trailers of the response", last.too_large_bytes);
}

status outcome_without_fields(const status& outcome, std::string_view part, std::uint64_t bytes) {
  char text[160];
  std::snprintf(text, sizeof text, "the %.*s have %llu bytes of fields, limit %u%s",
                static_cast<int>(part.size()), part.data(), static_cast<unsigned long long>(bytes),
                http2::limits().header_list_bytes,
                outcome.ok() ? ": let the server send such data in a message" : ": the rest was dropped");
  if (outcome.ok()) return status::resource_exhausted(text);
  std::string message(outcome.message());
  if (!message.empty()) message.append(" [").append(text).append("]");
  return {outcome.code(), message.empty() ? std::string_view(text) : message, outcome.details()};
}

status status_of_non_grpc_response(const protocol::grpc::response_headers& headers) {
  const status_code code = headers.http_status == 200 ? status_code::unknown
                                                      : protocol::grpc::from_http_status(headers.http_status);
  return http_error(code, headers.http_status, " and a content-type other than application/grpc");
}

status status_of_reset(const transport::abnormal_end& e) {
  if (e.unprocessed && !e.disconnected) {
    if (e.code == transport::error_code::refused_stream)
      return status::unavailable(
          "the server did not accept the call (REFUSED_STREAM): it is at a limit, or is shutting down");
    std::string text;
    base::if_memory_allows([&] { text.append("the server did not accept the call: ").append(e.reason); });
    return status::unavailable(text);
  }
  if (e.by == transport::initiator::user && !e.disconnected) return rpc::out_of_memory();
  if (e.disconnected) return status::unavailable(e.reason.empty() ? "the connection was lost" : e.reason);
  std::string text;
  base::if_memory_allows([&] {
    text = e.by == transport::initiator::peer ? "the server reset the call"
           : exceeded_header_limit(e)         ? "the server exceeded a limit of the client"
                                              : "the server violated HTTP";
    if (!e.reason.empty()) text.append(": ").append(e.reason);
  });
  return {protocol::grpc::from_reset_code(static_cast<std::uint32_t>(e.code)), text};
}

}  // namespace coracle::client
