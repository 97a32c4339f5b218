#include "net/raw_address.hpp"

#include "base/if_memory_allows.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace coracle::net {

namespace {

template <class Sockaddr>
runtime_internal::raw_address wrap(const Sockaddr& s, std::size_t size = sizeof(Sockaddr)) noexcept {
  runtime_internal::raw_address raw;
  static_assert(sizeof(Sockaddr) <= sizeof raw.bytes);
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

runtime_internal::raw_address unix_raw(const address& a) noexcept {
  sockaddr_un s{};
  s.sun_family = AF_UNIX;
  const bool abstract = a.kind() == address::family::abstract;
  std::memcpy(s.sun_path + (abstract ? 1 : 0), a.name().data(), a.name().size());
  // An abstract name consists of all bytes up to the size; a path ends with a zero. Both need one extra byte.
  return wrap(s, offsetof(sockaddr_un, sun_path) + (a.name().empty() ? 0 : a.name().size() + 1));
}

address unix_address(const runtime_internal::raw_address& raw) {
  const auto s = unwrap<sockaddr_un>(raw);
  if (raw.size <= offsetof(sockaddr_un, sun_path)) return address::unnamed_unix();
  const std::string_view held(s.sun_path, raw.size - offsetof(sockaddr_un, sun_path));
  if (held.front() == '\0') return address::abstract(held.substr(1)).value_or(address());
  return address::path(held.substr(0, held.find('\0'))).value_or(address());
}

}  // namespace

int raw_family(const address& a) noexcept {
  switch (a.kind()) {
    case address::family::ipv4: return AF_INET;
    case address::family::ipv6: return AF_INET6;
    case address::family::path:
    case address::family::abstract: return AF_UNIX;
    case address::family::none: break;
  }
  return AF_UNSPEC;
}

runtime_internal::raw_address to_raw(const address& a) noexcept {
  switch (a.kind()) {
    case address::family::ipv4: {
      sockaddr_in s{};
      s.sin_family = AF_INET;
      s.sin_port = htons(a.port());
      std::memcpy(&s.sin_addr, a.ip_bytes().data(), sizeof s.sin_addr);
      return wrap(s);
    }
    case address::family::ipv6: {
      sockaddr_in6 s{};
      s.sin6_family = AF_INET6;
      s.sin6_port = htons(a.port());
      s.sin6_scope_id = a.scope();
      std::memcpy(&s.sin6_addr, a.ip_bytes().data(), sizeof s.sin6_addr);
      return wrap(s);
    }
    case address::family::path:
    case address::family::abstract: return unix_raw(a);
    case address::family::none: break;
  }
  return {};
}

address from_raw(const runtime_internal::raw_address& raw) {
  if (raw.size < sizeof(sa_family_t)) return {};
  const auto family = unwrap<sa_family_t>(raw);
  if (family == AF_INET && raw.size >= sizeof(sockaddr_in)) {
    const auto s = unwrap<sockaddr_in>(raw);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &s.sin_addr, bytes.size());
    return address::ipv4(bytes, ntohs(s.sin_port));
  }
  if (family == AF_INET6 && raw.size >= sizeof(sockaddr_in6)) {
    const auto s = unwrap<sockaddr_in6>(raw);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &s.sin6_addr, bytes.size());
    return address::ipv6(bytes, ntohs(s.sin6_port), s.sin6_scope_id);
  }
  return family == AF_UNIX ? unix_address(raw) : address();
}

namespace {
const address unknown;
}

const address& socket_addresses::local() const noexcept {
  if (local_) return *local_;
  if (socket_ == runtime_internal::no_handle) return unknown;
  base::if_memory_allows([&] {
    runtime_internal::raw_address raw;
    const bool none = on_.io().local_address(socket_, raw) < 0;
    local_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  });
  return local_ ? *local_ : unknown;
}

const address& socket_addresses::peer() const noexcept {
  if (peer_) return *peer_;
  if (socket_ == runtime_internal::no_handle) return unknown;
  base::if_memory_allows([&] {
    runtime_internal::raw_address raw;
    const bool none = on_.io().peer_address(socket_, raw) < 0;
    peer_ = std::make_unique<const address>(none ? address() : from_raw(raw));
  });
  return peer_ ? *peer_ : unknown;
}

void socket_addresses::read(address& local, address& peer) const noexcept {
  if (socket_ == runtime_internal::no_handle) return;
  base::if_memory_allows([&] {
    runtime_internal::raw_address raw;
    if (on_.io().local_address(socket_, raw) >= 0) local = from_raw(raw);
    if (on_.io().peer_address(socket_, raw) >= 0) peer = from_raw(raw);
  });
}

}  // namespace coracle::net
