// handshake_state: the data of one connection that OpenSSL's callbacks read and write.
#pragma once

#include "coracle/tls/peer_verifier.hpp"
#include "tls/revocation_lists.hpp"
#include "tls/session_cache.hpp"

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <string>

namespace coracle::tls {

// Stored next to the SSL, whose app data points to it.
struct handshake_state {
  bool server = false;
  // Client: the name that the server must prove.
  std::string host;
  // Client: the cache for its sessions. Part of the context, which outlives the connection.
  session_cache* sessions = nullptr;
  // The user's, or null.
  peer_verifier verifier;
  bool verifier_asked = false;
  // By which the peer's chain is verified; null: no CRLs, or the handshake has ended, since long lists would
  // stay with each connection.
  std::shared_ptr<const revocation_lists> revocations;
  // The CAs of the peer's trust domain while its chain is verified. Null: the CAs are those of the context.
  STACK_OF(X509) * domain_cas = nullptr;
  // Sessions belong to the lists by which their peers were let in. 0: no CRLs.
  std::uint64_t generation = 0;
  // Why the verification of the peer's certificate failed.
  std::string verify_error;

  static handshake_state& of(const SSL* ssl) noexcept {
    return *static_cast<handshake_state*>(SSL_get_app_data(ssl));
  }
};

}  // namespace coracle::tls
