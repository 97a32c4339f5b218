// impostor: answers TLS handshakes in place of a server, with a certificate that no client may accept.
#pragma once

#include "tools/certs/certificate.hpp"
#include "tools/certs/openssl.hpp"

#include <openssl/ssl.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools::chaos {

// What the impostors of a run share: their CA, which only they know. Throws failure.
class impostor_authority {
 public:
  impostor_authority();
  // Throws failure.
  [[nodiscard]] openssl_ptr<SSL> connection() const;
  // A certificate for a server, and for this machine. Throws failure.
  [[nodiscard]] credential certificate_for(const std::string& server) const;

 private:
  credential ca_;
  openssl_ptr<SSL_CTX> context_;
};

// A man in the middle at one connection, without I/O. Its certificate is right in everything but its issuer:
// it has the name that the client asks for (RFC 6066 3), so that only a client that knows its CAs refuses
// it. A client has accepted it when it sends data, because some verify only after the handshake.
//
// Must not be moved: OpenSSL holds a pointer to it. `authority` must outlive it.
class impostor {
 public:
  // Throws failure.
  explicit impostor(const impostor_authority& authority);
  impostor(const impostor&) = delete;
  impostor& operator=(const impostor&) = delete;

  // Takes bytes of the client, and returns those for it.
  std::string answer(std::string_view bytes);
  // The client sends no more. has_got_all: it has been sent all answers before.
  void end(bool has_got_all);

  // How the client has taken it; empty as long as that is not known. Nothing is to be answered then.
  [[nodiscard]] const std::string& verdict() const noexcept { return verdict_; }
  [[nodiscard]] bool is_accepted() const noexcept { return is_accepted_; }

 private:
  static int choose_certificate(SSL* connection, void* self) noexcept;
  static void see_message(int is_written, int version, int kind, const void* message, std::size_t length,
                          SSL* connection, void* self) noexcept;
  void read();
  void fail();

  const impostor_authority& authority_;
  openssl_ptr<SSL> connection_;
  std::string verdict_;
  bool has_shown_certificate_ = false;
  bool is_accepted_ = false;
};

}  // namespace coracle::tools::chaos
