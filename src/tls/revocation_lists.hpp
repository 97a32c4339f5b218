// revocation_lists: CRLs, and whether they list the certificates of a chain (gRFC A69).
#pragma once

#include "coracle/base/result.hpp"
#include "tls/openssl_ptr.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tls {

// The certificate of an issuer, whose key has one digest for all of its lists. The certificate must stay.
class crl_issuer {
 public:
  using digest = std::array<unsigned char, 32>;
  explicit crl_issuer(X509& of) noexcept;
  [[nodiscard]] X509& certificate() const noexcept { return of_; }
  // Of the public key; nothing if the key may not sign CRLs, or is not known.
  [[nodiscard]] const std::optional<digest>& key() const noexcept { return key_; }
  // Without memory for the digest, say.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  X509& of_;
  bool has_failed_ = false;
  std::optional<digest> key_;
};

// unknown: OpenSSL has failed. A list may be valid then, and what it revokes must not be accepted.
enum class crl_signature : std::uint8_t { valid, invalid, unknown };

// One CRL. Any thread may use it.
class revocation_list {
 public:
  // Parses PEM with at least one CRL, or DER with one. The status says what is wrong with the text: "has no
  // CRL".
  [[nodiscard]] static result<std::vector<std::shared_ptr<const revocation_list>>> parse(
      const std::string& text);
  // Use parse(). part: null if it is one of all certificates.
  revocation_list(openssl_ptr<X509_CRL> crl, openssl_ptr<ISSUING_DIST_POINT> part) noexcept
      : crl_(std::move(crl)), part_(std::move(part)) {}

  [[nodiscard]] const X509_NAME* issuer() const noexcept { return X509_CRL_get_issuer(crl_.get()); }
  // Valid if `of`, which has that name, has signed it and may do so.
  [[nodiscard]] crl_signature signature_of(const crl_issuer& of) const noexcept;
  // Verifies it by the issuer of the list that it replaces, so that no handshake has to: a long list takes
  // milliseconds.
  void verify_as(const revocation_list& replaced) const noexcept;
  [[nodiscard]] bool is_verified() const noexcept;
  // Whether it would list the certificate of its issuer if that was revoked (RFC 5280 6.3.3 b). What it lists
  // is revoked in any case.
  [[nodiscard]] bool covers(X509& certificate) const noexcept;
  [[nodiscard]] bool lists(X509& certificate) const noexcept;

 private:
  using digest = crl_issuer::digest;
  const openssl_ptr<X509_CRL> crl_;
  const openssl_ptr<ISSUING_DIST_POINT> part_;
  // The issuer by whose key the signature was verified last, and the key by which it was not: there are
  // rarely others of that name.
  mutable std::mutex mutex_;
  mutable openssl_ptr<X509> verified_by_;
  mutable std::optional<digest> verified_key_;
  mutable std::optional<digest> refused_key_;
};

// Immutable; any thread may use it.
class revocation_lists {
 public:
  using all = std::vector<std::shared_ptr<const revocation_list>>;
  revocation_lists(const all& lists, bool deny_undetermined);

  // Tells these lists and earlier ones apart. Not 0.
  [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }
  // What is wrong with a chain that OpenSSL has verified, the peer's own certificate first.
  struct finding {
    int error = X509_V_OK;  // or X509_V_ERR_...
    X509* at = nullptr;  // of the chain
  };
  // above: the issuer of the chain's last certificate, if that is no root and the program trusts both.
  [[nodiscard]] finding check(const STACK_OF(X509) & chain, X509* above) const noexcept;

  // Both verify signatures before a handshake needs them. Not on a loop.
  void verify_by(const STACK_OF(X509) & issuers) const noexcept;
  void verify_as(const revocation_lists& replaced) const noexcept;
  // How many lists a handshake would have to verify.
  [[nodiscard]] std::size_t unverified() const noexcept;

 private:
  enum class verdict : std::uint8_t { unrevoked, revoked, undetermined, failed };
  struct by_name {
    bool operator()(const X509_NAME* a, const X509_NAME* b) const noexcept { return X509_NAME_cmp(a, b) < 0; }
  };
  [[nodiscard]] verdict judge(X509& certificate, X509& issuer) const noexcept;

  std::map<const X509_NAME*, all, by_name> by_issuer_;
  const bool deny_undetermined_;
  const std::uint64_t generation_;
};

}  // namespace coracle::tls
