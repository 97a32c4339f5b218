// server_context, client_context: SSL_CTXs configured from the options.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/security/certificates_in_use.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"
#include "tls/openssl_ptr.hpp"
#include "tls/session_cache.hpp"
#include "tls/spiffe_roots.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::tls {

// Immutable once created; usable from any thread. A connection keeps the context from which it was created.
class server_context {
 public:
  static result<std::shared_ptr<const server_context>> make(const server_options& options);
  // Returns an SSL in the server role; SNI may switch it to another certificate. Returns null if memory is
  // exhausted.
  [[nodiscard]] openssl_ptr<SSL> connection() const;
  // The CAs of clients that are known; may be null.
  [[nodiscard]] openssl_ptr<STACK_OF(X509)> trusted() const;
  // Without the times of loading.
  [[nodiscard]] const security::certificates_in_use& certificates() const noexcept { return certificates_; }

 private:
  struct named {
    openssl_ptr<SSL_CTX> context;
    X509* certificate;  // that of `context`
  };
  static int choose(SSL* ssl, int* alert, void* self) noexcept;
  std::unique_ptr<const spiffe_roots> roots_;  // of by_certificate_; null: their CAs are in them
  std::vector<named> by_certificate_;
  security::certificates_in_use certificates_;
};

class client_context {
 public:
  static result<std::shared_ptr<const client_context>> make(const client_options& options);
  // application_protocol: the only one to offer. Returns null if memory is exhausted.
  [[nodiscard]] openssl_ptr<SSL> connection(std::string_view application_protocol = "h2") const;
  [[nodiscard]] session_cache& sessions() const noexcept { return *sessions_; }
  // The CAs of servers that are known; may be null.
  [[nodiscard]] openssl_ptr<STACK_OF(X509)> trusted() const;
  // Without the times of loading.
  [[nodiscard]] const security::certificates_in_use& certificates() const noexcept { return certificates_; }

 private:
  std::unique_ptr<const spiffe_roots> roots_;  // of context_; null: its CAs are in it
  openssl_ptr<SSL_CTX> context_;
  security::certificates_in_use certificates_;
  std::unique_ptr<session_cache> sessions_ = std::make_unique<session_cache>();
};

}  // namespace coracle::tls
