// http_status: the HTTP status of a gRPC status, and back (google/rpc/code.proto).
#pragma once

#include "coracle/base/status.hpp"

namespace coracle::protocol::rest {

// 200, 400, ... 504; 499 for CANCELLED, which no RFC defines.
[[nodiscard]] int http_status_of(status_code code) noexcept;
// For a reply without a body of google.rpc.Status: the code that best fits an HTTP status.
[[nodiscard]] status_code status_code_of(int http_status) noexcept;

}  // namespace coracle::protocol::rest
