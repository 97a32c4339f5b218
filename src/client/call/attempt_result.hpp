// attempt_result: the result of an attempt, however it ended.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "transport/exchange_handler.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::client {

struct attempt_result {
  status outcome;
  coracle::metadata trailing;
  // The server's pushback; see protocol::grpc::response_headers.
  bool pushback = false;
  std::optional<duration> retry_after;
  // No retry is allowed, whatever the code is.
  bool final = false;
  // It has lost its place while it waited: no further attempt begins, and those in flight go on.
  bool displaced = false;

  [[nodiscard]] bool forbids_retry() const noexcept { return pushback && !retry_after; }
};

// Returns the status of a call that ends with this header block. http_status: that of the response headers.
status status_of_trailers(const protocol::grpc::response_headers& last, int http_status);
// Returns the status for response headers that are not gRPC.
status status_of_non_grpc_response(const protocol::grpc::response_headers& headers);
status status_of_reset(const transport::abnormal_end& e);
// The outcome of a call one of whose header blocks exceeded the client's limit. An error keeps its code, and
// its message says that something is missing; OK becomes RESOURCE_EXHAUSTED. part: "response headers" or
// "trailers of the response". bytes: the size of its header list.
status outcome_without_fields(const status& outcome, std::string_view part, std::uint64_t bytes);
// Whether the server exceeded a limit on header fields: another attempt would do the same.
[[nodiscard]] inline bool exceeded_header_limit(const transport::abnormal_end& e) noexcept {
  return e.by == transport::initiator::library && e.code == transport::error_code::enhance_your_calm &&
         !e.disconnected;
}

}  // namespace coracle::client
