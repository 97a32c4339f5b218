// client_key: which client a call is from, where clients share something.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"

#include <cstdint>

namespace coracle::server_internal {

// A hash of the identity that the client has proved (the first URI of its certificate, which is its SPIFFE id
// if it has one; else the first name, or the subject), or of its address without the port. Of an IPv6 address
// only the first 64 bits count: hosts choose the others. auth may be null. Who has proved no identity cannot
// have the key of an identity.
//
// `seed` is random for each server, so that no client can find out which others share a place in a table
// with it.
[[nodiscard]] std::uint64_t client_key(const net::address& peer, const auth_context* auth,
                                       std::uint64_t seed) noexcept;

}  // namespace coracle::server_internal
