// channel_credentials, server_credentials: plaintext or security, for who connects and who listens.
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

template <class Security>
using built = result<std::shared_ptr<Security>>;

// tls::client_options and tls::server_options are such.
template <class Options, class Security>
concept builder_of = requires(const Options& o) {
  { o.build() } -> std::same_as<built<Security>>;
};

// A value: copies share the security. Made from insecure(), from options (coracle::tls::client_options()), or from
// what those have built; there is no default.
template <class Security>
class credentials {
 public:
  credentials(plaintext) noexcept {}  // NOLINT(google-explicit-constructor)
  credentials(std::shared_ptr<Security> s) noexcept : security_(std::move(s)) {  // NOLINT
    if (!security_) failure_ = status::failed_precondition("the credentials are a null pointer");
  }
  // Options that cannot be carried out (a file that is missing, a key that does not fit) make credentials that
  // fail whatever uses them, with the reason.
  credentials(const built<Security>& b) : failure_(b.status()) {  // NOLINT(google-explicit-constructor)
    if (b) security_ = *b;
  }
  template <builder_of<Security> Options>
  credentials(const Options& o) : credentials(o.build()) {}  // NOLINT(google-explicit-constructor)

  // Null: plaintext, or failure().
  [[nodiscard]] const std::shared_ptr<Security>& security() const noexcept { return security_; }
  [[nodiscard]] bool secure() const noexcept { return security_ != nullptr; }
  [[nodiscard]] const status& failure() const noexcept { return failure_; }

 private:
  std::shared_ptr<Security> security_;
  status failure_;
};

// For channels. What goes into :scheme, and into :authority of a target whose own authority is given.
[[nodiscard]] std::string_view scheme_of(const credentials<client_security>& c) noexcept;
[[nodiscard]] std::string authority_of(const credentials<client_security>& c, std::string_view own);
// `raw`, or a secured duplex over it to whom `authority` (a host with or without a port) names.
[[nodiscard]] std::unique_ptr<net::duplex> secured(const credentials<client_security>& c, loop& on,
                                                   std::unique_ptr<net::duplex> raw,
                                                   std::string_view authority);

}  // namespace coracle::security

namespace coracle {

using channel_credentials = security::credentials<security::client_security>;
using server_credentials = security::credentials<security::server_security>;
static_assert(!std::is_aggregate_v<channel_credentials>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
