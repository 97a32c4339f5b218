// How ends that carry no grpc-status become one.
#pragma once

#include "coracle/base/status.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::protocol::grpc {

// An HTTP status where a gRPC answer was expected (doc/http-grpc-status-mapping.md).
status_code from_http_status(int http_status) noexcept;

// An RST_STREAM code, RFC 9113 section 7 (doc/PROTOCOL-HTTP2.md, "Errors"). `unprocessed` does not
// matter here: REFUSED_STREAM alone says it.
status_code from_reset_code(std::uint32_t code) noexcept;

// The decimal of grpc-status; a number out of range is UNKNOWN, as is text that is none.
status_code parse_status_code(std::string_view text) noexcept;

}  // namespace coracle::protocol::grpc
