// Which requests are gRPC: application/grpc, +proto, +json, ;parameters (doc/PROTOCOL-HTTP2.md).
#pragma once

#include <string_view>

namespace coracle::protocol::grpc {

enum class content : unsigned char { other, proto, json, unknown_subformat };

// "application/grpc-web" is another protocol and gives other.
constexpr content classify_content_type(std::string_view value) noexcept {
  constexpr std::string_view stem = "application/grpc";
  if (value.substr(0, stem.size()) != stem) return content::other;
  value.remove_prefix(stem.size());
  value = value.substr(0, value.find(';'));
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  if (value.empty() || value == "+proto") return content::proto;
  if (value == "+json") return content::json;
  return value.front() == '+' ? content::unknown_subformat : content::other;
}

}  // namespace coracle::protocol::grpc
