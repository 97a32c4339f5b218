// tls::server_options: how a server authenticates itself, and what it requires of its clients.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"
#include "coracle/tls/peer_verifier.hpp"
#include "coracle/tls/revocation_options.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

/// Whether a server requests certificates from its clients.
enum class client_certificates : std::uint8_t {
  ignored,    ///< the server requests none
  requested,  ///< clients may present none; one from an untrusted CA fails the handshake
  required,   ///< a client without a certificate fails the handshake
};

/// The TLS configuration of a listener.
///
///   coracle::tls::server_options tls;
///   tls.certificates = {coracle::tls::key_pair::files("server.pem", "server.key")};
///   server.listen("0.0.0.0:443", tls).throw_if_error();
///
/// The server uses TLS 1.2 and 1.3 with the cipher suites that RFC 9113 9.2.2 permits, and session tickets.
/// Of the ALPN protocols it prefers "h2" to "http/1.1"; a client that offers neither is rejected, and one
/// without ALPN is accepted. Certificates from files are read again when the files change; open connections
/// keep the old ones.
class server_options {
 public:
  /// All defaults.
  server_options() noexcept {}
  /// The certificates, at least one. The server presents the first one that matches the client's SNI name;
  /// without SNI, or if none matches, the first one.
  std::vector<key_pair> certificates;
  /// The CAs that issue the certificates of clients (mTLS); server_context::auth() returns the result of the
  /// verification. Default: none, and clients are not asked for certificates.
  std::vector<pem_source> client_cas;
  /// The path of a SPIFFE bundle map, by which clients are verified instead of `client_cas`; see
  /// client_options::spiffe_bundle_map. Default: empty, for none.
  std::string spiffe_bundle_map;
  /// Whether clients must present a certificate. Default: required if there are `client_cas` or a
  /// `spiffe_bundle_map`, else ignored.
  std::optional<client_certificates> clients;
  /// Accepts or rejects a client by its certificate, after the verification by `client_cas`, which it
  /// requires. See peer_verifier for its rules. Not called for clients without a certificate, which
  /// client_certificates::requested admits. Default: none.
  peer_verifier verifier;
  /// The CRLs by which the certificates of clients are verified. Default: none.
  revocation_options revocation;
  /// The handshake timeout. A connection whose handshake takes longer is closed. Default: 10 s
  /// (limits::handshake_time).
  duration handshake_timeout = limits::handshake_time;

  /// Reads the files and builds the security object. Returns FAILED_PRECONDITION, with a message that
  /// suggests a fix, if the options are invalid. Keep the object to call reload() on it, or pass it to
  /// listen() instead of the options.
  [[nodiscard]] result<std::shared_ptr<security::server_security>> build() const;
};
static_assert(!std::is_aggregate_v<server_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
