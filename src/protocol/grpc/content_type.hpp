// content_type: gRPC's content-type: application/grpc, with an optional subtype and parameters
// (PROTOCOL-HTTP2.md).
#pragma once

#include "protocol/web/ascii.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

inline constexpr std::string_view plain_content_type = "application/grpc";

// Returns the subtype: "proto" for "application/grpc+proto", empty for "application/grpc", and nullopt if the
// value is not gRPC, such as "application/grpc-web", which is another protocol. The case of the media type is
// ignored (RFC 9110 8.3.1), but the subtype is returned as it was sent.
constexpr std::optional<std::string_view> content_subtype(std::string_view value) noexcept {
  if (!web::starts_with_ignoring_case(value, plain_content_type)) return std::nullopt;
  value.remove_prefix(plain_content_type.size());
  value = web::trim(value.substr(0, value.find(';')));
  if (value.empty()) return value;
  if (value.front() != '+') return std::nullopt;
  return value.substr(1);
}

// Returns for example "application/grpc+json"; the plain content-type for an empty subtype.
inline std::string content_type_of(std::string_view subtype) {
  std::string text(plain_content_type);
  if (!subtype.empty()) text.append("+").append(subtype);
  return text;
}

}  // namespace coracle::protocol::grpc
