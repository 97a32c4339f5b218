// http_status: the HTTP status of a response that reports a status code. The comments of
// google/rpc/code.proto and the Connect protocol have the same table. The reverse, for responses without a
// code in their body, is grpc::from_http_status() for all protocols.
#pragma once

#include "coracle/base/status.hpp"

namespace coracle::protocol::web {

constexpr int to_http_status(status_code code) noexcept {
  switch (code) {
    case status_code::ok: return 200;
    case status_code::cancelled: return 499;  // "Client Closed Request", which no RFC defines
    case status_code::unknown: return 500;
    case status_code::invalid_argument: return 400;
    case status_code::deadline_exceeded: return 504;
    case status_code::not_found: return 404;
    case status_code::already_exists: return 409;
    case status_code::permission_denied: return 403;
    case status_code::resource_exhausted: return 429;
    case status_code::failed_precondition: return 400;  // not 412, which is about conditional requests
    case status_code::aborted: return 409;
    case status_code::out_of_range: return 400;
    case status_code::unimplemented: return 501;
    case status_code::internal: return 500;
    case status_code::unavailable: return 503;
    case status_code::data_loss: return 500;
    case status_code::unauthenticated: return 401;
  }
  return 500;
}

}  // namespace coracle::protocol::web
