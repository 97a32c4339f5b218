// header_names: the names of gRPC's header fields (grpc/grpc doc/PROTOCOL-HTTP2.md, gRFC A6,
// doc/compression.md).
#pragma once

#include <string_view>

namespace coracle::protocol::grpc {

// Fields with this prefix belong to the protocol and are not metadata.
inline constexpr std::string_view reserved_prefix = "grpc-";

// In requests.
inline constexpr std::string_view timeout_header = "grpc-timeout";
inline constexpr std::string_view previous_attempts_header = "grpc-previous-rpc-attempts";
inline constexpr std::string_view binary_trace_header = "grpc-trace-bin";
// In requests and responses.
inline constexpr std::string_view encoding_header = "grpc-encoding";
inline constexpr std::string_view accept_encoding_header = "grpc-accept-encoding";
// In trailers.
inline constexpr std::string_view status_header = "grpc-status";
inline constexpr std::string_view message_header = "grpc-message";
inline constexpr std::string_view status_details_header = "grpc-status-details-bin";
inline constexpr std::string_view retry_pushback_header = "grpc-retry-pushback-ms";
inline constexpr std::string_view load_report_header = "endpoint-load-metrics-bin";  // gRFC A51

// Whether the field is one of those that a status consists of.
constexpr bool is_status_field(std::string_view name) noexcept {
  return name == status_header || name == message_header || name == status_details_header;
}

}  // namespace coracle::protocol::grpc
