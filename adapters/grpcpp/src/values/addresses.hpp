// text_of(): addresses as grpc++ writes them.
#pragma once

#include "coracle/net/address.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace grpc::internal {

// "ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000", "unix:/path", "unix:" for a client; `otherwise` within a
// process.
inline std::string text_of(const coracle::net::address& a, const char* otherwise) {
  using family = coracle::net::address::family;
  if (a.kind() == family::none) return otherwise;
  const std::string text = a.to_string();
  if (a.kind() == family::ipv4) return "ipv4:" + text;
  if (a.kind() != family::ipv6) return text;
  const auto end = text.rfind(']');
  // A client of IPv4 at a socket of IPv6.
  constexpr std::string_view mapped = "[::ffff:";
  if (text.starts_with(mapped) && text.find('.') != text.npos)
    return "ipv4:" + text.substr(mapped.size(), end - mapped.size()) + text.substr(end + 1);
  return "ipv6:%5B" + text.substr(1, end - 1) + "%5D" + text.substr(end + 1);
}

// Whose calls come from an address, as a hash that clients cannot foresee: an IPv4 address, the first half
// of one of IPv6, of which a machine has all the others, and all clients of UNIX sockets. 0: the program
// itself.
inline std::size_t client_of(const coracle::net::address& a) noexcept {
  using family = coracle::net::address::family;
  static const std::uint64_t seed = std::random_device()();
  if (a.kind() == family::none) return 0;
  std::uint64_t hash = seed ^ static_cast<std::uint64_t>(a.kind());
  // FNV-1a; the bytes of an IPv4 address that comes as one of IPv6 are the last ones.
  const auto& bytes = a.ip_bytes();
  const bool mapped = a.kind() == family::ipv6 &&
                      std::all_of(bytes.begin(), bytes.begin() + 10, [](auto b) { return b == 0; });
  const std::size_t used = a.kind() == family::ipv6 && !mapped ? 8 : bytes.size();
  for (std::size_t i = 0; i < used; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return static_cast<std::size_t>(hash ^ (hash >> 32u)) | 1u;
}

}  // namespace grpc::internal
