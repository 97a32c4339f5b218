// handshake_notes: what OpenSSL's callbacks tell of one connection, and are told.
#pragma once

#include "tls/session_cache.hpp"

#include <openssl/ssl.h>

#include <string>

namespace coracle::tls {

// Beside its SSL, which points here.
struct handshake_notes {
  bool server = false;
  // Client: whom the server has to be.
  std::string host;
  // Client: where its sessions go. Part of the context, which outlives the connection.
  session_cache* sessions = nullptr;
  // Why the peer's certificate was not believed.
  std::string disbelief;

  static handshake_notes& of(const SSL* ssl) noexcept {
    return *static_cast<handshake_notes*>(SSL_get_app_data(ssl));
  }
};

}  // namespace coracle::tls
