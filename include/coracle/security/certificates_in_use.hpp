// certificates_in_use: which certificates credentials use, and until when they are valid, for operators.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/security/auth_context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle::security {

/// A certificate with which credentials prove who they are. A value; it has nothing secret.
class listed_certificate {
 public:
  /// Empty.
  listed_certificate() = default;
  /// The subject as in RFC 4514: "CN=movies.example,O=Movies". Empty if the certificate has none.
  std::string subject;
  std::string issuer;  ///< in the same form
  std::vector<peer_identity> names;  ///< the subjectAltNames, in their order
  std::string serial;  ///< in hexadecimal digits, lower case
  std::string sha256;  ///< of the certificate (DER), in hexadecimal digits, lower case
  std::string key_type;  ///< "EC prime256v1", "RSA 2048", "ED25519"
  /// @{
  /// When it is valid. Years that the type cannot hold are system_clock::time_point::max().
  std::chrono::system_clock::time_point not_before{};
  std::chrono::system_clock::time_point not_after{};
  /// @}
  /// The number of certificates that are sent: it and its intermediates.
  std::size_t chain_size = 0;
  /// When the first of these expires.
  std::chrono::system_clock::time_point chain_not_after{};
  std::string file;  ///< the path of the file that it is from; empty if it was passed as text
  /// Of a server: the DNS names of the certificate for which it is presented. Those that an earlier
  /// certificate matches are left out.
  std::vector<std::string> server_names;
  /// Of a server: whether it is presented to clients without SNI, and to those whose name none matches.
  bool is_default = false;
};
static_assert(!std::is_aggregate_v<listed_certificate>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Whose certificates are accepted.
enum class trusted_cas : std::uint8_t {
  none,  ///< a server that asks for no certificates, or a client that does not verify
  system,  ///< the CAs of the system
  program,  ///< those that the options have
};

/// The certificates of a client_security or a server_security. A value.
class certificates_in_use {
 public:
  /// No certificates.
  certificates_in_use() = default;
  std::vector<listed_certificate> certificates;  ///< in the order of the options
  trusted_cas trusted = trusted_cas::none;  ///< whose certificates are accepted
  std::size_t trusted_count = 0;  ///< the number of trusted_cas::program
  /// When the first of trusted_cas::program expires.
  std::chrono::system_clock::time_point trusted_not_after{};
  std::chrono::system_clock::time_point loaded{};  ///< when all this was read
  /// Why the last reload failed, so that these certificates are still in use; OK if it did not.
  status reload_error;
  std::chrono::system_clock::time_point reload_failed{};  ///< when that was
};
static_assert(!std::is_aggregate_v<certificates_in_use>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::security
