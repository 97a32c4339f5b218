#include "runtime/sim/endpoint.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace coracle::sim {

namespace {

template <class Sockaddr>
runtime_internal::raw_address wrap(const Sockaddr& s, std::size_t size = sizeof(Sockaddr)) noexcept {
  runtime_internal::raw_address raw;
  std::memcpy(raw.bytes, &s, size);
  raw.size = static_cast<std::uint32_t>(size);
  return raw;
}

template <class Sockaddr>
Sockaddr unwrap(const runtime_internal::raw_address& raw) noexcept {
  Sockaddr s{};
  std::memcpy(&s, raw.bytes, std::min<std::size_t>(raw.size, sizeof s));
  return s;
}

}  // namespace

bool endpoint::is_loopback() const noexcept {
  if (kind == family::ipv4) return ip[0] == 127;
  if (kind != family::ipv6) return false;
  return ip[15] == 1 && std::all_of(ip.begin(), ip.end() - 1, [](std::uint8_t b) { return b == 0; });
}

bool endpoint::is_wildcard() const noexcept {
  return kind != family::local && std::all_of(ip.begin(), ip.end(), [](std::uint8_t b) { return b == 0; });
}

endpoint from_raw(const runtime_internal::raw_address& raw) {
  endpoint e;
  const auto family = unwrap<sa_family_t>(raw);
  if (raw.size < sizeof(sa_family_t)) return e;
  if (family == AF_INET) {
    const auto s = unwrap<sockaddr_in>(raw);
    e.kind = endpoint::family::ipv4;
    std::memcpy(e.ip.data(), &s.sin_addr, sizeof s.sin_addr);
    e.port = ntohs(s.sin_port);
  } else if (family == AF_INET6) {
    const auto s = unwrap<sockaddr_in6>(raw);
    e.kind = endpoint::family::ipv6;
    std::memcpy(e.ip.data(), &s.sin6_addr, sizeof s.sin6_addr);
    e.port = ntohs(s.sin6_port);
  } else if (family == AF_UNIX) {
    const auto s = unwrap<sockaddr_un>(raw);
    e.kind = endpoint::family::local;
    const std::size_t size = raw.size - offsetof(sockaddr_un, sun_path);
    e.path.assign(s.sun_path, s.sun_path[0] == '\0' ? size : ::strnlen(s.sun_path, size));
  }
  return e;
}

runtime_internal::raw_address to_raw(const endpoint& e) noexcept {
  switch (e.kind) {
    case endpoint::family::ipv4: {
      sockaddr_in s{};
      s.sin_family = AF_INET;
      s.sin_port = htons(e.port);
      std::memcpy(&s.sin_addr, e.ip.data(), sizeof s.sin_addr);
      return wrap(s);
    }
    case endpoint::family::ipv6: {
      sockaddr_in6 s{};
      s.sin6_family = AF_INET6;
      s.sin6_port = htons(e.port);
      std::memcpy(&s.sin6_addr, e.ip.data(), sizeof s.sin6_addr);
      return wrap(s);
    }
    case endpoint::family::local:
    case endpoint::family::none: break;
  }
  sockaddr_un s{};
  s.sun_family = AF_UNIX;
  const std::size_t size = std::min(e.path.size(), sizeof s.sun_path - 1);
  std::memcpy(s.sun_path, e.path.data(), size);
  const bool ends_with_zero = size > 0 && e.path[0] != '\0';
  return wrap(s, offsetof(sockaddr_un, sun_path) + size + (ends_with_zero ? 1 : 0));
}

}  // namespace coracle::sim
