// auth_context: the security properties of a connection and the identity of its peer.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

/// A name that a verified certificate assigns to its holder.
class peer_identity {
 public:
  /// Which field of the certificate has the name.
  enum class kind : std::uint8_t {
    dns_name,     ///< subjectAltName
    ip_address,   ///< subjectAltName, as text
    uri,          ///< subjectAltName; SPIFFE ids are URIs
    email,        ///< subjectAltName
    common_name,  ///< the subject's CN
  };
  /// @cond
  peer_identity(kind type, std::string value) noexcept : type_(type), value_(std::move(value)) {}
  /// @endcond
  /// Returns which field of the certificate has the name.
  [[nodiscard]] kind type() const noexcept { return type_; }
  /// Returns the name as text.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  friend bool operator==(const peer_identity&, const peer_identity&) = default;

 private:
  kind type_;
  std::string value_;
};

/// Describes the security of a connection and the identity of its peer. It is created when the handshake has
/// completed and is immutable afterwards: any thread may read it. The connection owns it; call
/// shared_from_this() to keep it longer.
class auth_context : public std::enable_shared_from_this<auth_context> {
 public:
  /// Empty, for a context of the program's own, such as that of server::in_process().
  auth_context() = default;

  /// Returns the kind of security: "tls".
  [[nodiscard]] std::string_view type() const noexcept { return type_; }
  /// Returns the protocol version, for example "TLSv1.3".
  [[nodiscard]] std::string_view protocol() const noexcept { return protocol_; }
  /// Returns the cipher suite, for example "TLS_AES_256_GCM_SHA384".
  [[nodiscard]] std::string_view cipher() const noexcept { return cipher_; }
  /// Returns the protocol that ALPN negotiated: "h2" or "http/1.1"; empty if the peer does not use ALPN.
  [[nodiscard]] std::string_view application_protocol() const noexcept { return application_protocol_; }
  /// Returns the name that the client requested (SNI); empty if it requested none.
  [[nodiscard]] std::string_view server_name() const noexcept { return server_name_; }
  /// Whether the handshake resumed an earlier session, without a new exchange of certificates.
  [[nodiscard]] bool resumed() const noexcept { return resumed_; }

  /// Whether the peer proved that it holds the key of a certificate issued by a trusted CA.
  [[nodiscard]] bool peer_verified() const noexcept { return peer_verified_; }
  /// Returns the names in the peer's certificate: subjectAltNames in their order, then the CN. Empty unless
  /// peer_verified().
  [[nodiscard]] const std::vector<peer_identity>& identities() const noexcept { return identities_; }
  /// Whether identities() contains this name.
  [[nodiscard]] bool has_identity(peer_identity::kind type, std::string_view value) const noexcept {
    for (const peer_identity& i : identities_)
      if (i.type() == type && i.value() == value) return true;
    return false;
  }
  /// Returns the distinguished name of the peer's certificate as text (RFC 2253), for example
  /// "CN=reader,O=Example". Empty unless peer_verified().
  [[nodiscard]] const std::string& subject() const noexcept { return subject_; }
  /// Returns the peer's certificates as PEM text, in the order in which the peer sent them: its own
  /// certificate comes first. After a resumption it contains only the peer's own certificate. Empty if the
  /// peer sent none. Check peer_verified() before you trust them.
  [[nodiscard]] const std::string& peer_certificates_pem() const noexcept { return pem_; }

  /// @{
  /// Sets the property of that name, before any other thread uses the object.
  auth_context& type(std::string s) { return type_ = std::move(s), *this; }
  auth_context& protocol(std::string s) { return protocol_ = std::move(s), *this; }
  auth_context& cipher(std::string s) { return cipher_ = std::move(s), *this; }
  auth_context& application_protocol(std::string s) { return application_protocol_ = std::move(s), *this; }
  auth_context& server_name(std::string s) { return server_name_ = std::move(s), *this; }
  auth_context& resumed(bool r) noexcept { return resumed_ = r, *this; }
  auth_context& peer_verified(bool v) noexcept { return peer_verified_ = v, *this; }
  auth_context& identities(std::vector<peer_identity> i) { return identities_ = std::move(i), *this; }
  auth_context& subject(std::string s) { return subject_ = std::move(s), *this; }
  auth_context& peer_certificates_pem(std::string s) { return pem_ = std::move(s), *this; }
  /// @}

 private:
  std::string type_;
  std::string protocol_;
  std::string cipher_;
  std::string application_protocol_;
  std::string server_name_;
  std::vector<peer_identity> identities_;
  std::string subject_;
  std::string pem_;
  bool resumed_ = false;
  bool peer_verified_ = false;
};

}  // namespace coracle
