// peer_verifier: a user's own decision on the certificate of a peer.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/security/auth_context.hpp"

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

/// The certificate with which a peer has proved its identity in a handshake; immutable.
class peer_certificate {
 public:
  /// On a client, the name that the server has to prove: the target's host, or client_options::target_name.
  /// On a server, the name that the client requested (SNI); empty if it requested none.
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  /// Whether a trusted CA has issued the certificate, on a client for host(). False only on a client whose
  /// client_options::verify is false: then only what the verifier itself compares is certain.
  [[nodiscard]] bool chain_verified() const noexcept { return chain_verified_; }
  /// The names in the certificate: subjectAltNames in their order, then the CN.
  [[nodiscard]] const std::vector<peer_identity>& identities() const noexcept { return identities_; }
  /// Whether identities() contains this name, such as a SPIFFE id (peer_identity::kind::uri).
  [[nodiscard]] bool has_identity(peer_identity::kind type, std::string_view value) const noexcept {
    for (const peer_identity& i : identities_)
      if (i.type() == type && i.value() == value) return true;
    return false;
  }
  /// The SHA-256 of the public key (SubjectPublicKeyInfo) in base64, as pins are usually written. It stays
  /// the same when a certificate is renewed for the same key.
  [[nodiscard]] const std::string& spki_sha256() const noexcept { return spki_sha256_; }
  /// The certificate of the peer itself, without its chain.
  [[nodiscard]] const std::vector<std::uint8_t>& der() const noexcept { return der_; }
  /// The same certificate as PEM text.
  [[nodiscard]] const std::string& pem() const noexcept { return pem_; }

  /// @cond  For the library.
  peer_certificate(std::string host, bool chain_verified, std::vector<peer_identity> identities,
                   std::string spki_sha256, std::vector<std::uint8_t> der, std::string pem) noexcept
      : host_(std::move(host)),
        chain_verified_(chain_verified),
        identities_(std::move(identities)),
        spki_sha256_(std::move(spki_sha256)),
        der_(std::move(der)),
        pem_(std::move(pem)) {}
  /// @endcond

 private:
  std::string host_;
  bool chain_verified_;
  std::vector<peer_identity> identities_;
  std::string spki_sha256_;
  std::vector<std::uint8_t> der_;
  std::string pem_;
};
static_assert(!std::is_aggregate_v<peer_certificate>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Accepts a peer with OK. Any other status fails the handshake; its text becomes part of the reason that the
/// status of the client's calls, or the log of the server, shows. An exception rejects the peer, too.
///
/// Called once in each handshake, also in one that resumes a session, on the loop of the connection: it
/// must not block, and several loops may call it at the same time. It must not use the certificate after
/// it has returned.
class peer_verifier {
 public:
  /// No function: every peer is accepted.
  peer_verifier() noexcept = default;
  /// Calls `f`. Copies share it.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, peer_verifier> &&
             std::is_invocable_r_v<status, F&, const peer_certificate&>)
  peer_verifier(F f)  // NOLINT(google-explicit-constructor)
      : verify_(std::make_shared<const std::function<status(const peer_certificate&)>>(std::move(f))) {}

  /// Returns whether there is a function.
  explicit operator bool() const noexcept { return verify_ && *verify_; }
  /// Calls the function, which must exist.
  status operator()(const peer_certificate& c) const { return (*verify_)(c); }
  /// Returns whether both are copies of the same object.
  friend bool operator==(const peer_verifier&, const peer_verifier&) = default;

 private:
  std::shared_ptr<const std::function<status(const peer_certificate&)>> verify_;
};

}  // namespace coracle::tls
