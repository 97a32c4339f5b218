// server_context, client_context: SSL_CTXs as the options ask for them.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"
#include "tls/owned.hpp"
#include "tls/session_cache.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace coracle::tls {

// Never changed once made: any thread. Connections keep the one they were made of.
class server_context {
 public:
  static result<std::shared_ptr<const server_context>> make(const server_options& options);
  // An SSL in the server's role; SNI may lead it to another certificate. Null when memory is out.
  [[nodiscard]] owned<SSL> connection() const;

 private:
  struct named {
    owned<SSL_CTX> context;
    X509* certificate;  // its own
  };
  static int choose(SSL* ssl, int* alert, void* self) noexcept;
  std::vector<named> by_certificate_;
};

class client_context {
 public:
  static result<std::shared_ptr<const client_context>> make(const client_options& options);
  [[nodiscard]] owned<SSL> connection() const;
  [[nodiscard]] session_cache& sessions() const noexcept { return *sessions_; }

 private:
  owned<SSL_CTX> context_;
  std::unique_ptr<session_cache> sessions_ = std::make_unique<session_cache>();
};

}  // namespace coracle::tls
