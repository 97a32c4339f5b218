// attempt_result: the result of an attempt, however it ended.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "transport/exchange_handler.hpp"

#include <optional>

namespace coracle::client {

struct attempt_result {
  status outcome;
  coracle::metadata trailing;
  // The server's pushback; see protocol::grpc::response_headers.
  bool pushback = false;
  std::optional<duration> retry_after;
  // No retry is allowed, whatever the code is.
  bool final = false;

  [[nodiscard]] bool forbids_retry() const noexcept { return pushback && !retry_after; }
};

// Returns the status of a call that ends with this header block. http_status: that of the response headers.
status status_of_trailers(const protocol::grpc::response_headers& last, int http_status);
// Returns the status for response headers that are not gRPC.
status status_of_non_grpc_response(const protocol::grpc::response_headers& headers);
status status_of_reset(const transport::abnormal_end& e);

}  // namespace coracle::client
