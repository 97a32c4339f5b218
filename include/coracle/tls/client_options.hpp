// tls::client_options: which servers a client trusts, and how it authenticates itself.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"
#include "coracle/tls/peer_verifier.hpp"
#include "coracle/tls/revocation_options.hpp"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

/// The TLS configuration of a client: `channel(runtime, "movies.example:443", tls::client_options())`, or
/// with a CA of one's own:
///
///   coracle::tls::client_options tls;
///   tls.cas = {coracle::tls::pem_source::file("ca.pem")};
///
/// The server must present a certificate issued by a trusted CA for the host of the channel's target. The
/// name or IP address must be a subjectAltName; the subject's CN is ignored (RFC 9525), unless
/// accept_common_name. The client uses TLS
/// 1.2 and 1.3 with the cipher suites that RFC 9113 9.2.2 permits, and offers the one ALPN protocol that the
/// channel speaks: "h2", or "http/1.1" (see channel_options::http_version). The connection fails if the
/// server does not select it; a server without ALPN is accepted for HTTP/1.1 only. Sessions are cached and
/// resumed by later connections of all channels that share the credentials.
class client_options {
 public:
  /// All defaults.
  client_options() noexcept {}
  /// The CAs to trust instead of the system's CAs. Default: none, which trusts the system's.
  std::vector<pem_source> cas;
  /// The path of a SPIFFE bundle map, JSON that has the CAs of SPIFFE trust domains, to trust instead of
  /// `cas` (gRFC A87):
  /// `{"trust_domains": {"example.org": {"keys": [{"use": "x509-svid", "x5c": ["MII..."]}]}}}`. A server's
  /// certificate must have exactly one URI among its subjectAltNames, a SPIFFE id such as
  /// `spiffe://example.org/web`, and a CA of that trust domain must have issued it. Certificates with SPIFFE
  /// ids often have no other name: see `verify_name`. The file is read again when it changes. Default: empty,
  /// for none.
  std::string spiffe_bundle_map;
  /// The certificate that the client presents to servers that request one (mTLS). Default: none.
  std::optional<key_pair> certificate;
  /// Overrides the target's name for verification, SNI and :authority, whatever the target is. For tests.
  /// Default: empty, which is the target's name.
  std::string target_name;
  /// Whether the CN of a certificate that has no DNS name in a subjectAltName stands for the host, as before
  /// RFC 6125. For servers of old private CAs whose certificates cannot be issued again. Default: false.
  bool accept_common_name = false;
  /// Whether the server's certificate must have the name of the host. False accepts each certificate that a
  /// trusted CA has issued: set a `verifier` that decides by the names. Default: true.
  bool verify_name = true;
  /// Whether the server's certificate must also have the name of a call whose :authority is not that of the
  /// channel: of call_options::authority, and of servers whose control plane has it rewritten (gRFC A81). A
  /// call with another name ends with UNAVAILABLE before it is sent. Has no effect without `verify` and
  /// `verify_name`, and for clusters whose TLS a control plane configures. Default: true.
  bool verify_authority = true;
  /// Whether the server's certificate is verified. False disables all protection against impersonation. For
  /// tests. Default: true.
  bool verify = true;
  /// Accepts or rejects the server in addition to the normal verification, and after it: for pinned keys,
  /// SPIFFE ids and the like. See peer_verifier for its rules. Without `verify` it is the only verification.
  /// Default: none.
  peer_verifier verifier;
  /// The CRLs by which the server's certificate is verified. Default: none.
  revocation_options revocation;
  /// The handshake timeout. A connection whose handshake takes longer is closed, and the attempt to connect
  /// fails. Default: 10 s (limits::handshake_time).
  duration handshake_timeout = limits::handshake_time;

  /// Reads the files and builds the security object. Returns FAILED_PRECONDITION, with a message that
  /// suggests a fix, if the options are invalid. Keep the object to call reload() on it, or pass it to
  /// several channels.
  [[nodiscard]] result<std::shared_ptr<security::client_security>> build() const;

  /// Compares all options; channel_pool uses it. Options with a key_pair::passphrase() never compare equal.
  /// Verifiers are equal if they are copies of the same object.
  friend bool operator==(const client_options&, const client_options&) = default;
};
static_assert(!std::is_aggregate_v<client_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
