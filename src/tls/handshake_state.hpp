// handshake_state: the data of one connection that OpenSSL's callbacks read and write.
#pragma once

#include "coracle/tls/peer_verifier.hpp"
#include "tls/session_cache.hpp"

#include <openssl/ssl.h>

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
  // Why the verification of the peer's certificate failed.
  std::string verify_error;

  static handshake_state& of(const SSL* ssl) noexcept {
    return *static_cast<handshake_state*>(SSL_get_app_data(ssl));
  }
};

}  // namespace coracle::tls
