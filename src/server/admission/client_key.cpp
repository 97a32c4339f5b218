#include "server/admission/client_key.hpp"

#include "base/xxh64.hpp"

#include <cstddef>
#include <string_view>

namespace coracle::server_internal {

namespace {

// What an identity is hashed with beside the seed, to tell a name from an address of the same bytes.
constexpr std::uint64_t identity_salt = 0x9d3c'5a1f'77e0'b24b;

// Empty if the client has proved none.
std::string_view identity_of(const auth_context* auth) noexcept {
  if (!auth || !auth->peer_verified()) return {};
  for (const peer_identity& i : auth->identities())
    if (i.type() == peer_identity::kind::uri) return i.value();
  return auth->identities().empty() ? std::string_view(auth->subject()) : auth->identities().front().value();
}

std::size_t host_bytes(net::address::family of) noexcept {
  switch (of) {
    case net::address::family::ipv4: return 4;
    case net::address::family::ipv6: return 8;
    default: return 0;
  }
}

}  // namespace

std::uint64_t client_key(const net::address& peer, const auth_context* auth, std::uint64_t seed) noexcept {
  if (const std::string_view identity = identity_of(auth); !identity.empty())
    return base::xxh64(identity, seed ^ identity_salt);
  const std::string_view host(reinterpret_cast<const char*>(peer.ip_bytes().data()), host_bytes(peer.kind()));
  return base::xxh64(host.empty() ? std::string_view(peer.name()) : host, seed);
}

}  // namespace coracle::server_internal
