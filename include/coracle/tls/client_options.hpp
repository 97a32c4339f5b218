// tls::client_options: which servers a client trusts, and how it authenticates itself.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"
#include "coracle/tls/peer_verifier.hpp"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

/// The TLS configuration of a client.
/// For instance: `channel(runtime, "movies.example:443", tls::client_options())`.
///
/// The server must present a certificate issued by a trusted CA for the host of the channel's target. The
/// name or IP address must be a subjectAltName; the subject's CN is ignored (RFC 9525). The client uses TLS
/// 1.2 and 1.3 with the cipher suites that RFC 9113 9.2.2 permits, and requires the ALPN protocol "h2":
/// without it the connection fails. Sessions are cached and resumed by later connections of all channels that
/// share the credentials.
class client_options {
 public:
  client_options() = default;
  /// Trusts this CA instead of the system's CAs. May be called several times.
  client_options& ca(pem_source ca) { return cas_.push_back(std::move(ca)), *this; }
  client_options& ca_file(std::string path) { return ca(pem_source::file(std::move(path))); }
  client_options& ca_pem(std::string text) { return ca(pem_source::text(std::move(text))); }
  /// Sets the certificate that the client presents to servers that request one (mTLS).
  client_options& certificate(key_pair k) { return pair_.emplace(std::move(k)), *this; }
  client_options& certificate_files(std::string chain_path, std::string key_path) {
    return certificate(key_pair::files(std::move(chain_path), std::move(key_path)));
  }
  /// Overrides the target's name for verification, SNI and :authority, whatever the target is. For tests.
  client_options& target_name(std::string name) { return target_name_ = std::move(name), *this; }
  /// Disables the verification of the server's certificate, and with it all protection against impersonation.
  /// For tests.
  client_options& without_verification() noexcept { return verify_ = false, *this; }
  /// Sets a function that accepts or rejects the server in addition to the normal verification, and after
  /// it: for pinned keys, SPIFFE ids and the like. See peer_verifier for its rules. With
  /// without_verification() it is the only verification.
  client_options& verifier(peer_verifier v) {
    return verifier_ = v ? std::make_shared<const peer_verifier>(std::move(v)) : nullptr, *this;
  }
  /// Sets the handshake timeout. A connection whose handshake takes longer is closed, and the attempt to
  /// connect fails. Default: limits::handshake_time (10 s).
  client_options& handshake_timeout(duration d) noexcept { return handshake_timeout_ = d, *this; }

  /// Reads the files and builds the security object. Returns FAILED_PRECONDITION, with a message that
  /// suggests a fix, if the options are invalid. Keep the object to call reload() on it, or pass it to
  /// several channels.
  [[nodiscard]] result<std::shared_ptr<security::client_security>> build() const;

  [[nodiscard]] const std::vector<pem_source>& cas() const noexcept { return cas_; }
  [[nodiscard]] const std::optional<key_pair>& certificate() const noexcept { return pair_; }
  [[nodiscard]] const std::string& target_name() const noexcept { return target_name_; }
  [[nodiscard]] bool verifies() const noexcept { return verify_; }
  [[nodiscard]] duration handshake_timeout() const noexcept { return handshake_timeout_; }
  [[nodiscard]] const std::shared_ptr<const peer_verifier>& verifier() const noexcept { return verifier_; }
  /// Compares all options; channel_pool uses it. Options with a key_pair::passphrase() never compare equal.
  /// Options with a verifier() are equal only to copies of themselves: make them once.
  friend bool operator==(const client_options&, const client_options&) = default;

 private:
  std::vector<pem_source> cas_;
  std::optional<key_pair> pair_;
  std::string target_name_;
  duration handshake_timeout_ = limits::handshake_time;
  std::shared_ptr<const peer_verifier> verifier_;
  bool verify_ = true;
};
static_assert(!std::is_aggregate_v<client_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
