// header_names: the names of the Connect protocol's header fields (connectrpc.com/docs/protocol).
#pragma once

#include "protocol/web/ascii.hpp"

#include <string_view>

namespace coracle::protocol::connect {

// Fields with this prefix belong to the protocol and are not metadata.
inline constexpr std::string_view reserved_prefix = "connect-";

// In requests.
inline constexpr std::string_view protocol_version_header = "connect-protocol-version";
inline constexpr std::string_view timeout_header = "connect-timeout-ms";
// In requests and responses of unary calls: the fields of HTTP, for the body as a whole.
inline constexpr std::string_view unary_encoding_header = "content-encoding";
inline constexpr std::string_view unary_accept_encoding_header = "accept-encoding";
// In requests and responses of streams: for single messages.
inline constexpr std::string_view stream_encoding_header = "connect-content-encoding";
inline constexpr std::string_view stream_accept_encoding_header = "connect-accept-encoding";
// Precedes the names of trailing metadata in the headers of a unary response.
inline constexpr std::string_view trailer_prefix = "trailer-";

// The value of protocol_version_header, and of the parameter "connect" of a GET request.
inline constexpr std::string_view protocol_version = "1";
inline constexpr std::string_view get_protocol_version = "v1";

constexpr std::string_view encoding_header(bool stream) noexcept {
  return stream ? stream_encoding_header : unary_encoding_header;
}
constexpr std::string_view accept_encoding_header(bool stream) noexcept {
  return stream ? stream_accept_encoding_header : unary_accept_encoding_header;
}

// Whether the field of a unary response is trailing metadata, and its name without the prefix.
constexpr bool is_trailer(std::string_view name) noexcept {
  return name.size() > trailer_prefix.size() && web::starts_with_ignoring_case(name, trailer_prefix);
}
constexpr std::string_view trailer_name(std::string_view name) noexcept {
  return name.substr(trailer_prefix.size());
}

// Whether the field (in lower case) belongs to the protocol or to HTTP and is therefore not metadata.
// "trailer-" fields are not reserved: in a request, they are ordinary metadata.
[[nodiscard]] bool is_reserved_key(std::string_view name) noexcept;

}  // namespace coracle::protocol::connect
