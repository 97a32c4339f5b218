// tls::server_options: how a server authenticates itself, and what it requires of its clients.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"
#include "coracle/tls/peer_verifier.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

/// Whether a server requests certificates from its clients.
enum class client_certificates : std::uint8_t {
  ignored,    ///< the server requests none
  requested,  ///< clients may present none; one from an untrusted CA fails the handshake
  required,
};

/// The TLS configuration of a listener.
/// For instance:
/// `server.listen("0.0.0.0:443", tls::server_options().certificate_files("server.pem", "server.key"))`.
///
/// The server uses TLS 1.2 and 1.3 with the cipher suites that RFC 9113 9.2.2 permits, the ALPN protocol "h2"
/// (a client that does not offer it is rejected), and session tickets. Certificates from files are read again
/// when the files change; open connections keep the old ones.
class server_options {
 public:
  server_options() = default;
  /// Adds a certificate. If there are several, the server presents the first one that matches the client's
  /// SNI name; without SNI, or if none matches, it presents the first one added.
  server_options& certificate(key_pair k) { return pairs_.push_back(std::move(k)), *this; }
  server_options& certificate_files(std::string chain_path, std::string key_path) {
    return certificate(key_pair::files(std::move(chain_path), std::move(key_path)));
  }
  server_options& certificate_pem(std::string chain, std::string key) {
    return certificate(key_pair::pem(std::move(chain), std::move(key)));
  }
  /// Enables mTLS: verifies that the client's certificate was issued by this CA; server_context::auth()
  /// returns the result. May be called several times; the last value of `c` applies.
  server_options& client_ca(pem_source ca, client_certificates c = client_certificates::required) {
    client_cas_.push_back(std::move(ca));
    clients_ = c;
    return *this;
  }
  server_options& client_ca_file(std::string path, client_certificates c = client_certificates::required) {
    return client_ca(pem_source::file(std::move(path)), c);
  }
  /// Sets a function that accepts or rejects a client by its certificate, after the verification by
  /// client_ca(), which it requires. See peer_verifier for its rules. Not called for clients without a
  /// certificate, which client_certificates::requested admits.
  server_options& verifier(peer_verifier v) {
    return verifier_ = v ? std::make_shared<const peer_verifier>(std::move(v)) : nullptr, *this;
  }
  /// Sets the handshake timeout. A connection whose handshake takes longer is closed. Default:
  /// limits::handshake_time (10 s).
  server_options& handshake_timeout(duration d) noexcept { return handshake_timeout_ = d, *this; }

  /// Reads the files and builds the security object. Returns FAILED_PRECONDITION, with a message that
  /// suggests a fix, if the options are invalid. Keep the object to call reload() on it, or pass it to
  /// listen() instead of the options.
  [[nodiscard]] result<std::shared_ptr<security::server_security>> build() const;

  [[nodiscard]] const std::vector<key_pair>& certificates() const noexcept { return pairs_; }
  [[nodiscard]] const std::vector<pem_source>& client_cas() const noexcept { return client_cas_; }
  [[nodiscard]] client_certificates clients() const noexcept { return clients_; }
  [[nodiscard]] duration handshake_timeout() const noexcept { return handshake_timeout_; }
  [[nodiscard]] const std::shared_ptr<const peer_verifier>& verifier() const noexcept { return verifier_; }

 private:
  std::vector<key_pair> pairs_;
  std::vector<pem_source> client_cas_;
  duration handshake_timeout_ = limits::handshake_time;
  std::shared_ptr<const peer_verifier> verifier_;
  client_certificates clients_ = client_certificates::ignored;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
