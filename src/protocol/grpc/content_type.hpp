// Which requests are gRPC: application/grpc, with a subtype or without, ;parameters (doc/PROTOCOL-HTTP2.md).
#pragma once

#include <optional>
#include <string_view>

namespace coracle::protocol::grpc {

// What follows the '+' in "application/grpc+proto"; empty for "application/grpc"; nothing for what is not gRPC,
// such as "application/grpc-web", which is another protocol.
constexpr std::optional<std::string_view> content_subtype(std::string_view value) noexcept {
  constexpr std::string_view stem = "application/grpc";
  if (value.substr(0, stem.size()) != stem) return std::nullopt;
  value.remove_prefix(stem.size());
  value = value.substr(0, value.find(';'));
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  if (value.empty()) return value;
  if (value.front() != '+') return std::nullopt;
  return value.substr(1);
}

}  // namespace coracle::protocol::grpc
