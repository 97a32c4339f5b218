#include "protocol/grpc/wire_metadata.hpp"

#include "protocol/grpc/header_names.hpp"

#include <algorithm>
#include <array>

namespace coracle::protocol::grpc {

bool is_valid_key(std::string_view key) noexcept {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

bool is_reserved_key(std::string_view key) noexcept {
  static constexpr std::array<std::string_view, 10> fixed{
      "content-type", "te",   "connection",     "keep-alive",        "proxy-connection",
      "upgrade",      "host", "content-length", "transfer-encoding", "user-agent"};
  if (key.empty() || key.front() == ':' || key.substr(0, reserved_prefix.size()) == reserved_prefix)
    return true;
  return std::find(fixed.begin(), fixed.end(), key) != fixed.end();
}

}  // namespace coracle::protocol::grpc
