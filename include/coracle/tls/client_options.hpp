// tls::client_options: whom a client trusts, and how it proves who it is.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/security/security.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/limits.hpp"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::tls {

// channel(runtime, "movies.example:443", tls::client_options())
//
// The server proves, with a certificate from a CA that is trusted here, that it is the host of the channel's target:
// by a subjectAltName, for a name as for an IP address (a subject's CN is no proof: RFC 9525). TLS 1.2 and 1.3 with the
// cipher suites that RFC 9113 9.2.2 leaves; ALPN "h2", without which the connection fails. Sessions are kept for the
// next connection of whatever shares the credentials.
class client_options {
 public:
  client_options() = default;
  // In place of the system's CAs; may be said several times.
  client_options& ca(pem_source ca) { return cas_.push_back(std::move(ca)), *this; }
  client_options& ca_file(std::string path) { return ca(pem_source::file(std::move(path))); }
  client_options& ca_pem(std::string text) { return ca(pem_source::text(std::move(text))); }
  // For servers that ask for one (mTLS).
  client_options& certificate(key_pair k) { return pair_.emplace(std::move(k)), *this; }
  client_options& certificate_files(std::string chain_path, std::string key_path) {
    return certificate(key_pair::files(std::move(chain_path), std::move(key_path)));
  }
  // For tests: the server has to prove that it is `name`, and is called so (SNI, :authority), whatever the target.
  client_options& target_name(std::string name) { return target_name_ = std::move(name), *this; }
  // Whoever answers is believed to be the server: no protection from anyone on the way. For tests.
  client_options& without_verification() noexcept { return verify_ = false, *this; }
  // A connection whose handshake has not ended by then is closed, and its attempt has failed.
  client_options& handshake_timeout(duration d) noexcept { return handshake_timeout_ = d, *this; }

  // Reads the files. FAILED_PRECONDITION, with a line that says the mend. What it gives may be kept, for reload(),
  // and handed to several channels.
  [[nodiscard]] result<std::shared_ptr<security::client_security>> build() const;

  [[nodiscard]] const std::vector<pem_source>& cas() const noexcept { return cas_; }
  [[nodiscard]] const std::optional<key_pair>& certificate() const noexcept { return pair_; }
  [[nodiscard]] const std::string& target_name() const noexcept { return target_name_; }
  [[nodiscard]] bool verifies() const noexcept { return verify_; }
  [[nodiscard]] duration handshake_timeout() const noexcept { return handshake_timeout_; }
  // They say the same (which no two with a key_pair::passphrase() do): what channel_pool goes by.
  friend bool operator==(const client_options&, const client_options&) = default;

 private:
  std::vector<pem_source> cas_;
  std::optional<key_pair> pair_;
  std::string target_name_;
  duration handshake_timeout_ = limits::handshake_time;
  bool verify_ = true;
};
static_assert(!std::is_aggregate_v<client_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
