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

bool is_protocol_field(std::string_view name) noexcept {
  static constexpr std::array<std::string_view, 8> of_http{
      "content-type",     "te",      "connection",     "keep-alive",
      "proxy-connection", "upgrade", "content-length", "transfer-encoding"};
  static constexpr std::array<std::string_view, 6> of_grpc{timeout_header,         encoding_header,
                                                           accept_encoding_header, status_header,
                                                           message_header,         status_details_header};
  if (name.empty() || name.front() == ':') return true;
  const auto has = [name](const auto& all) { return std::find(all.begin(), all.end(), name) != all.end(); };
  return name.starts_with(reserved_prefix) ? has(of_grpc) : has(of_http);
}

bool is_reserved_key(std::string_view key) noexcept {
  return is_protocol_field(key) || key.starts_with(reserved_prefix) || key == "host" || key == "user-agent";
}

}  // namespace coracle::protocol::grpc
