#include "server/admission/client_key.hpp"

#include "base/xxh64.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::server_internal {

namespace {

// What an identity is hashed with beside the seed, to tell a name from an address of the same bytes.
constexpr std::uint64_t identity_salt = 0x9d3c'5a1f'77e0'b24b;

// A name of one kind does not count as one of another kind.
std::uint64_t key_of(const peer_identity& i, std::uint64_t seed) noexcept {
  return base::xxh64(i.value(), seed ^ (identity_salt + static_cast<std::uint64_t>(i.type())));
}

std::optional<std::uint64_t> key_of_identity(const auth_context& auth, std::uint64_t seed) noexcept {
  for (const peer_identity& i : auth.identities())
    if (i.type() == peer_identity::kind::uri) return key_of(i, seed);
  if (!auth.identities().empty()) return key_of(auth.identities().front(), seed);
  if (!auth.subject().empty()) return base::xxh64(auth.subject(), seed ^ ~identity_salt);
  return std::nullopt;
}

// The bytes that tell hosts apart. An address of IPv4 is the same through a socket of IPv6 (RFC 4291 2.5.5.2)
// and through a translator (RFC 6052 2.1). Of others the network counts, except on a link, which is one.
std::string_view host_of(const net::address& peer) noexcept {
  const std::string_view bytes(reinterpret_cast<const char*>(peer.ip_bytes().data()), 16);
  if (peer.kind() == net::address::family::ipv4) return bytes.substr(0, 4);
  if (peer.kind() != net::address::family::ipv6) return {};
  constexpr std::string_view mapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
  constexpr std::string_view translated("\0\x64\xff\x9b\0\0\0\0\0\0\0\0", 12);
  if (bytes.starts_with(mapped) || bytes.starts_with(translated)) return bytes.substr(12);
  const bool is_of_link = bytes[0] == '\xfe' && (bytes[1] & '\xc0') == '\x80';
  return is_of_link ? bytes : bytes.substr(0, 8);
}

}  // namespace

std::uint64_t client_key(const net::address& peer, const auth_context* auth, std::uint64_t seed) noexcept {
  if (auth && auth->peer_verified())
    if (const auto key = key_of_identity(*auth, seed)) return *key;
  return base::xxh64(host_of(peer), seed);
}

}  // namespace coracle::server_internal
