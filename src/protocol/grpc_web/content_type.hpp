// content_type: gRPC-Web's content-types: application/grpc-web and, for bodies in base64,
// application/grpc-web-text, each with an optional subtype and parameters (grpc/grpc doc/PROTOCOL-WEB.md).
#pragma once

#include "protocol/web/ascii.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc_web {

inline constexpr std::string_view binary_content_type = "application/grpc-web";
inline constexpr std::string_view text_content_type = "application/grpc-web-text";

struct content {
  bool text = false;         // the body is in base64
  std::string_view subtype;  // "proto" of "application/grpc-web+proto"; may be empty. Borrowed.

  friend constexpr bool operator==(const content&, const content&) = default;
};

// Returns nullopt if the value is not gRPC-Web. The case of the media type is ignored (RFC 9110 8.3.1), but
// the subtype is returned as it was sent.
constexpr std::optional<content> parse_content_type(std::string_view value) noexcept {
  value = web::trim(value.substr(0, value.find(';')));
  if (!web::starts_with_ignoring_case(value, binary_content_type)) return std::nullopt;
  value.remove_prefix(binary_content_type.size());
  content c;
  constexpr std::string_view text_suffix = text_content_type.substr(binary_content_type.size());
  if (web::starts_with_ignoring_case(value, text_suffix)) {
    c.text = true;
    value.remove_prefix(text_suffix.size());
  }
  if (value.empty()) return c;
  if (value.front() != '+' || value.size() == 1) return std::nullopt;
  c.subtype = value.substr(1);
  return c;
}

// Returns for example "application/grpc-web+json"; the plain content-type for an empty subtype.
inline std::string content_type_of(bool text, std::string_view subtype) {
  std::string out(text ? text_content_type : binary_content_type);
  if (!subtype.empty()) out.append("+").append(subtype);
  return out;
}

}  // namespace coracle::protocol::grpc_web
