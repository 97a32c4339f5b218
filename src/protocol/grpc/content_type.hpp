// The content-type of gRPC: application/grpc, with or without a subtype and parameters (doc/PROTOCOL-HTTP2.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

inline constexpr std::string_view plain_content_type = "application/grpc";

// What follows the '+' in "application/grpc+proto"; empty for "application/grpc"; nothing for what is not gRPC,
// such as "application/grpc-web", which is another protocol.
constexpr std::optional<std::string_view> content_subtype(std::string_view value) noexcept {
  if (value.substr(0, plain_content_type.size()) != plain_content_type) return std::nullopt;
  value.remove_prefix(plain_content_type.size());
  value = value.substr(0, value.find(';'));
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  if (value.empty()) return value;
  if (value.front() != '+') return std::nullopt;
  return value.substr(1);
}

// "application/grpc+json"; the plain one for an empty subtype.
inline std::string content_type_of(std::string_view subtype) {
  std::string text(plain_content_type);
  if (!subtype.empty()) text.append("+").append(subtype);
  return text;
}

}  // namespace coracle::protocol::grpc
