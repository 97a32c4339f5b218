// attempt_end: how an attempt ended, whichever way it did.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/metadata.hpp"
#include "protocol/grpc/response_headers.hpp"
#include "transport/exchange_handler.hpp"

#include <optional>

namespace coracle::client {

struct attempt_end {
  status how;
  coracle::metadata trailing;
  // What the server says about trying again; see protocol::grpc::response_headers.
  bool pushback = false;
  std::optional<duration> retry_after;
  // Nobody may try again, whatever the code is.
  bool final = false;

  [[nodiscard]] bool told_to_stop() const noexcept { return pushback && !retry_after; }
};

// The status of a call whose last block this is. http_status: that of its head.
status end_by_trailers(const protocol::grpc::response_headers& last, int http_status);
// The status that a head brings which is no gRPC's.
status end_by_foreign_head(const protocol::grpc::response_headers& head);
status end_by_reset(const transport::abnormal_end& e);

}  // namespace coracle::client
