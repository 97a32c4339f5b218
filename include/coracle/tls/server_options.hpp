// tls::server_options: how a server proves who it is, and what it asks of its clients.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

enum class client_certificates : std::uint8_t {
  ignored,    // none is asked for
  requested,  // a client may have none; one that is not from our CA fails the handshake
  required,
};

// server.listen("0.0.0.0:443", tls::server_options().certificate_files("server.pem", "server.key"))
//
// TLS 1.2 and 1.3 with the cipher suites that RFC 9113 9.2.2 leaves, ALPN "h2" (a client that does not offer it is
// refused), session tickets. Certificates from files are read again when the files change; the connections that are
// open keep theirs.
class server_options {
 public:
  server_options() = default;
  // With several, the client's SNI chooses the first that bears its name; without SNI, or when none does, it is the
  // first of all.
  server_options& certificate(key_pair k) { return pairs_.push_back(std::move(k)), *this; }
  server_options& certificate_files(std::string chain_path, std::string key_path) {
    return certificate(key_pair::files(std::move(chain_path), std::move(key_path)));
  }
  server_options& certificate_pem(std::string chain, std::string key) {
    return certificate(key_pair::pem(std::move(chain), std::move(key)));
  }
  // mTLS: clients prove with a certificate from one of these CAs who they are; server_context::auth() says it. May be
  // said several times.
  server_options& client_ca(pem_source ca, client_certificates c = client_certificates::required) {
    client_cas_.push_back(std::move(ca));
    clients_ = c;
    return *this;
  }
  server_options& client_ca_file(std::string path, client_certificates c = client_certificates::required) {
    return client_ca(pem_source::file(std::move(path)), c);
  }
  // A connection whose handshake has not ended by then is closed.
  server_options& handshake_timeout(duration d) noexcept { return handshake_timeout_ = d, *this; }

  // Reads the files. FAILED_PRECONDITION, with a line that says the mend. What it gives may be kept, for reload(),
  // and handed to listen() in place of the options.
  [[nodiscard]] result<std::shared_ptr<security::server_security>> build() const;

  [[nodiscard]] const std::vector<key_pair>& certificates() const noexcept { return pairs_; }
  [[nodiscard]] const std::vector<pem_source>& client_cas() const noexcept { return client_cas_; }
  [[nodiscard]] client_certificates clients() const noexcept { return clients_; }
  [[nodiscard]] duration handshake_timeout() const noexcept { return handshake_timeout_; }

 private:
  std::vector<key_pair> pairs_;
  std::vector<pem_source> client_cas_;
  duration handshake_timeout_ = limits::handshake_time;
  client_certificates clients_ = client_certificates::ignored;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
