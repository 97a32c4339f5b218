// status_mapping: derives a status code from ends of calls that carry no grpc-status.
#pragma once

#include "coracle/base/status.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::protocol::grpc {

// Maps an HTTP status where a gRPC response was expected (doc/http-grpc-status-mapping.md).
status_code from_http_status(int http_status) noexcept;

// Maps an RST_STREAM code, RFC 9113 section 7 (doc/PROTOCOL-HTTP2.md, "Errors"). `unprocessed` is not needed
// here: REFUSED_STREAM alone expresses it.
status_code from_reset_code(std::uint32_t code) noexcept;

// Parses the decimal number of grpc-status. Returns UNKNOWN for a number out of range and for other text.
status_code parse_status_code(std::string_view text) noexcept;

}  // namespace coracle::protocol::grpc
