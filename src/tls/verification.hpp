// verification: asks the user's verifier about the certificate of a peer.
#pragma once

#include "tls/handshake_state.hpp"
#include "tls/openssl_ptr.hpp"

namespace coracle::tls {

// Calls the verifier of the connection, if it has one that was not called in this handshake. Returns false
// if it rejects the peer, or memory is exhausted; the notes then have the verify error.
bool accepted_by_verifier(SSL& connection, X509& leaf, bool chain_verified) noexcept;

}  // namespace coracle::tls
