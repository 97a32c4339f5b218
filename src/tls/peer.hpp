// peer: describes the peer of a connection after its handshake.
#pragma once

#include "coracle/security/auth_context.hpp"
#include "tls/openssl_ptr.hpp"

#include <memory>
#include <string>
#include <vector>

namespace coracle::tls {

// Returns the names in a certificate, verified or not: subjectAltNames in their order, then the CN.
std::vector<peer_identity> identities_of(const X509* certificate);

std::shared_ptr<const auth_context> describe_peer(SSL& connection, bool server);

// Returns this side's certificate as DER; empty if it has none.
std::string local_certificate_of(const SSL& connection);

}  // namespace coracle::tls
