#include "sim/swarm/authority.hpp"

#include "sim/swarm/dice.hpp"

#include "coracle/base/impl/assert.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace coracle::swarm {

namespace {

struct release {
  void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
  void operator()(X509* c) const noexcept { X509_free(c); }
  void operator()(X509_EXTENSION* e) const noexcept { X509_EXTENSION_free(e); }
  void operator()(BIO* b) const noexcept { BIO_free(b); }
};
template <class T>
using owned = std::unique_ptr<T, release>;

owned<EVP_PKEY> key_of(std::uint32_t number) {
  unsigned char bytes[32];
  dice d(number, 11);
  for (unsigned char& b : bytes) b = static_cast<unsigned char>(d.draw());
  return owned<EVP_PKEY>(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes, sizeof bytes));
}

void call(X509_NAME* name, const std::string& description) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(description.c_str()), -1, -1, 0);
}

void extend(X509* c, int number, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  const owned<X509_EXTENSION> e(X509V3_EXT_conf_nid(nullptr, &context, number, value.c_str()));
  CORACLE_ASSERT(e && X509_add_ext(c, e.get(), -1) == 1, "a certificate's extension does not parse");
}

std::string text_of(const owned<BIO>& b) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(b.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string name_of_authority(std::uint32_t number) { return "authority " + std::to_string(number); }

// Valid whatever a world's clocks jump to.
issued sign(std::uint32_t number, const std::string& subject, std::uint32_t by, int extension,
            const std::string& value) {
  const owned<EVP_PKEY> key = key_of(number);
  const owned<EVP_PKEY> signer = key_of(by);
  const owned<X509> c(X509_new());
  X509_set_version(c.get(), 2);  // which is called 3
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), number);
  ASN1_TIME_set_string_X509(X509_getm_notBefore(c.get()), "19700101000000Z");
  ASN1_TIME_set_string_X509(X509_getm_notAfter(c.get()), "29991231235959Z");
  call(X509_get_subject_name(c.get()), subject);
  call(X509_get_issuer_name(c.get()), name_of_authority(by));
  X509_set_pubkey(c.get(), key.get());
  extend(c.get(), extension, value);
  CORACLE_ASSERT(X509_sign(c.get(), signer.get(), nullptr) > 0, "a certificate cannot be signed");
  const owned<BIO> chain(BIO_new(BIO_s_mem()));
  const owned<BIO> secret(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(chain.get(), c.get());
  PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(chain), text_of(secret)};
}

}  // namespace

authority::authority(std::uint32_t number)
    : number_(number),
      self_(sign(number, name_of_authority(number), number, NID_basic_constraints, "critical,CA:TRUE")) {}

issued authority::issue(std::uint32_t number, const std::string& names) const {
  return sign(number, "host", number_, NID_subject_alt_name, names);
}

}  // namespace coracle::swarm
