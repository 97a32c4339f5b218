// revocations: CRLs for the certificates of certificates.hpp, made with OpenSSL.
#pragma once

#include "support/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing_support {

// What a CRL says. A PEM text that the issuer has signed unless something else is set.
class revocations {
 public:
  explicit revocations(std::string issuer) : issuer_(std::move(issuer)), signer_(issuer_) {}
  // "server" is that of server.pem.
  revocations& revoke(std::string name) { return names_.push_back(std::move(name)), *this; }
  revocations& sign_as(std::string name) { return signer_ = std::move(name), *this; }
  revocations& expire() { return is_expired_ = true, *this; }
  // As the lines of an OpenSSL configuration: "issuingDistributionPoint", "critical,indirectCRL:TRUE".
  revocations& extend(int kind, std::string value) {
    kind_ = kind;
    value_ = std::move(value);
    return *this;
  }

  [[nodiscard]] std::string pem() const {
    const auto crl = made();
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    must(PEM_write_bio_X509_CRL(out.get(), crl.get()));
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    return std::string(text, static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::string der() const {
    const auto crl = made();
    std::string bytes(static_cast<std::size_t>(i2d_X509_CRL(crl.get(), nullptr)), '\0');
    auto* to = reinterpret_cast<unsigned char*>(bytes.data());
    i2d_X509_CRL(crl.get(), &to);
    return bytes;
  }

 private:
  template <class T>
  using owned = std::unique_ptr<T, void (*)(T*)>;

  static void must(int outcome) {
    if (outcome <= 0) throw std::runtime_error("OpenSSL makes no such CRL");
  }
  static owned<X509> certificate_of(const std::string& name) {
    const std::string text = certificates::made().text(name + ".pem");
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
    return {PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), &X509_free};
  }
  [[nodiscard]] owned<X509_CRL> made() const {
    owned<X509_CRL> crl(X509_CRL_new(), &X509_CRL_free);
    const auto issuer = certificate_of(issuer_);
    must(X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2));
    must(X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())));
    constexpr long day_s = 24 * 3600;
    const owned<ASN1_TIME> before(ASN1_TIME_adj(nullptr, std::time(nullptr), 0, -10 * day_s),
                                  &ASN1_TIME_free);
    const owned<ASN1_TIME> until(
        ASN1_TIME_adj(nullptr, std::time(nullptr), 0, (is_expired_ ? -5 : 5) * day_s), &ASN1_TIME_free);
    must(X509_CRL_set1_lastUpdate(crl.get(), before.get()));
    must(X509_CRL_set1_nextUpdate(crl.get(), until.get()));
    for (const std::string& name : names_) {
      const auto revoked = certificate_of(name);
      owned<X509_REVOKED> entry(X509_REVOKED_new(), &X509_REVOKED_free);
      must(X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(revoked.get())));
      must(X509_REVOKED_set_revocationDate(entry.get(), before.get()));
      must(X509_CRL_add0_revoked(crl.get(), entry.release()));
    }
    if (kind_ != NID_undef) {
      const owned<X509_EXTENSION> one(X509V3_EXT_conf_nid(nullptr, nullptr, kind_, value_.c_str()),
                                      &X509_EXTENSION_free);
      must(one != nullptr);
      must(X509_CRL_add_ext(crl.get(), one.get(), -1));
    }
    const std::string text = certificates::made().text(signer_ + ".key");
    const std::unique_ptr<BIO, decltype(&BIO_free)> in(
        BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
    const owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
    must(X509_CRL_sign(crl.get(), key.get(), EVP_sha256()));
    return crl;
  }

  const std::string issuer_;
  std::string signer_;
  std::vector<std::string> names_;
  bool is_expired_ = false;
  int kind_ = NID_undef;
  std::string value_;
};

}  // namespace coracle::testing_support
