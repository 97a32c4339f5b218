// text_of(): addresses as grpc++ writes them.
#pragma once

#include "coracle/net/address.hpp"

#include <string>

namespace grpc::internal {

// "ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000", "unix:/path".
inline std::string text_of(const coracle::net::address& a) {
  using family = coracle::net::address::family;
  const std::string text = a.to_string();
  if (a.kind() == family::ipv4) return "ipv4:" + text;
  if (a.kind() != family::ipv6) return text;
  const auto end = text.rfind(']');
  return "ipv6:%5B" + text.substr(1, end - 1) + "%5D" + text.substr(end + 1);
}

}  // namespace grpc::internal
