// auth_context: what a secured connection knows of its other end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

// A name that a verified certificate gives its holder.
class peer_identity {
 public:
  enum class kind : std::uint8_t {
    dns_name,     // subjectAltName
    ip_address,   // subjectAltName, as text
    uri,          // subjectAltName; a SPIFFE id is one
    email,        // subjectAltName
    common_name,  // the subject's CN
  };
  peer_identity(kind what, std::string value) noexcept : what_(what), value_(std::move(value)) {}
  [[nodiscard]] kind what() const noexcept { return what_; }
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  friend bool operator==(const peer_identity&, const peer_identity&) = default;

 private:
  kind what_;
  std::string value_;
};

// Made once a connection's handshake has ended, and never changed afterwards: any thread may read it. It belongs
// to its connection; whoever needs it for longer calls shared_from_this().
class auth_context : public std::enable_shared_from_this<auth_context> {
 public:
  auth_context() = default;

  // "tls".
  [[nodiscard]] std::string_view type() const noexcept { return type_; }
  // "TLSv1.3" and the like.
  [[nodiscard]] std::string_view protocol() const noexcept { return protocol_; }
  // "TLS_AES_256_GCM_SHA384" and the like.
  [[nodiscard]] std::string_view cipher() const noexcept { return cipher_; }
  // What ALPN agreed on: "h2".
  [[nodiscard]] std::string_view application_protocol() const noexcept { return application_protocol_; }
  // The name that the client asked for (SNI); empty when it asked for none.
  [[nodiscard]] std::string_view server_name() const noexcept { return server_name_; }
  // The handshake took up an earlier session: no certificates were exchanged anew.
  [[nodiscard]] bool resumed() const noexcept { return resumed_; }

  // The peer has proved that it holds a certificate that one of our CAs vouches for.
  [[nodiscard]] bool peer_verified() const noexcept { return peer_verified_; }
  // Its names: subjectAltNames in their order, then the CN. Empty unless peer_verified().
  [[nodiscard]] const std::vector<peer_identity>& identities() const noexcept { return identities_; }
  [[nodiscard]] bool has_identity(peer_identity::kind what, std::string_view value) const noexcept {
    for (const peer_identity& i : identities_)
      if (i.what() == what && i.value() == value) return true;
    return false;
  }
  // The peer's certificates as it sent them, its own first, as PEM text; after a resumption its own alone. Empty
  // when it sent none. Look at peer_verified() before you believe them.
  [[nodiscard]] const std::string& peer_certificates_pem() const noexcept { return pem_; }

  // For who makes one.
  auth_context& type(std::string s) { return type_ = std::move(s), *this; }
  auth_context& protocol(std::string s) { return protocol_ = std::move(s), *this; }
  auth_context& cipher(std::string s) { return cipher_ = std::move(s), *this; }
  auth_context& application_protocol(std::string s) { return application_protocol_ = std::move(s), *this; }
  auth_context& server_name(std::string s) { return server_name_ = std::move(s), *this; }
  auth_context& resumed(bool r) noexcept { return resumed_ = r, *this; }
  auth_context& peer_verified(bool v) noexcept { return peer_verified_ = v, *this; }
  auth_context& identities(std::vector<peer_identity> i) { return identities_ = std::move(i), *this; }
  auth_context& peer_certificates_pem(std::string s) { return pem_ = std::move(s), *this; }

 private:
  std::string type_;
  std::string protocol_;
  std::string cipher_;
  std::string application_protocol_;
  std::string server_name_;
  std::vector<peer_identity> identities_;
  std::string pem_;
  bool resumed_ = false;
  bool peer_verified_ = false;
};

}  // namespace coracle
