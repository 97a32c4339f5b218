// channel_credentials, server_credentials: plaintext or TLS, for channels and for listeners.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/security/insecure.hpp"
#include "coracle/security/security.hpp"

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle::security {

/// What the build() of security options returns.
template <class Security>
using built = result<std::shared_ptr<Security>>;

/// Options that build a Security, such as tls::client_options and tls::server_options.
template <class Options, class Security>
concept builder_of = requires(const Options& o) {
  { o.build() } -> std::same_as<built<Security>>;
};

/// Selects plaintext or security for a channel or a listener. It is a value: copies share the security
/// object. Construct it from insecure(), from options (coracle::tls::client_options()), or from the result of
/// their build(). There is no default.
template <class Security>
class credentials {
 public:
  /// Plaintext: insecure().
  credentials(plaintext) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Shares `s`; null makes credentials that hold an error.
  credentials(std::shared_ptr<Security> s) noexcept : security_(std::move(s)) {  // NOLINT
    if (!security_) failure_ = status::failed_precondition("the credentials are a null pointer");
  }
  /// Invalid options (a missing file, a key that does not match) make credentials that hold the error. Every
  /// use of them fails with that error; see failure().
  credentials(const built<Security>& b) : failure_(b.status()) {  // NOLINT(google-explicit-constructor)
    if (b) security_ = *b;
  }
  /// Builds the options, which reads their files. If that fails, the credentials hold the error.
  template <builder_of<Security> Options>
  credentials(const Options& o) : credentials(o.build()) {}  // NOLINT(google-explicit-constructor)

  /// Returns the security object; null for plaintext, or if failure() is not OK.
  [[nodiscard]] const std::shared_ptr<Security>& security() const noexcept { return security_; }
  /// Returns whether there is a security object.
  [[nodiscard]] bool secure() const noexcept { return security_ != nullptr; }
  /// Returns the error of options that could not be built; OK otherwise.
  [[nodiscard]] const status& failure() const noexcept { return failure_; }

 private:
  std::shared_ptr<Security> security_;
  status failure_;
};

/// Returns whether every connection with these credentials is protected.
[[nodiscard]] bool always_private(const credentials<client_security>& c) noexcept;
/// Returns the value of :scheme for a channel with these credentials.
[[nodiscard]] std::string_view scheme_of(const credentials<client_security>& c) noexcept;
/// Returns the value of :authority: `own`, the authority of the target, unless the credentials override it
/// (client_security::name_override()).
[[nodiscard]] std::string authority_of(const credentials<client_security>& c, std::string_view own);
/// Returns `raw` for plaintext, else a duplex that runs TLS over `raw` to the server that `authority` names
/// (a host with or without a port), for `application_protocol`; see client_security::secure().
[[nodiscard]] std::unique_ptr<net::duplex> secured(const credentials<client_security>& c, loop& on,
                                                   std::unique_ptr<net::duplex> raw,
                                                   std::string_view authority,
                                                   std::string_view application_protocol);

}  // namespace coracle::security

namespace coracle {

/// The credentials of a channel: insecure(), or tls::client_options().
using channel_credentials = security::credentials<security::client_security>;
/// The credentials of a listener: insecure(), or tls::server_options().
using server_credentials = security::credentials<security::server_security>;
static_assert(!std::is_aggregate_v<channel_credentials>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
