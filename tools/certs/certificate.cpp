#include "tools/certs/certificate.hpp"

#include "tools/failure.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>

namespace coracle::tools {

namespace {

constexpr int authority_days = 3650;
// Machines whose clocks are slightly behind accept a new certificate, too.
constexpr long backdated_s = 3600;
// RFC 5280 4.1.2.2: positive, and at most 20 octets including the sign.
constexpr int serial_bits = 159;

openssl_ptr<EVP_PKEY> new_key() { return make_owned(EVP_EC_gen("P-256"), "make a key"); }

void set_random_serial(X509* x) {
  const auto number = make_owned(BN_new(), "make a serial number");
  require(BN_rand(number.get(), serial_bits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY), "make a serial number");
  if (!BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(x)))
    throw_openssl_error("make a serial number");
}

// Sets everything that does not depend on the issuer.
openssl_ptr<X509> new_certificate(EVP_PKEY* key, const std::string& common_name, int days) {
  auto x = make_owned(X509_new(), "make a certificate");
  require(X509_set_version(x.get(), X509_VERSION_3), "make a certificate");
  set_random_serial(x.get());
  if (!X509_time_adj_ex(X509_getm_notBefore(x.get()), 0, -backdated_s, nullptr) ||
      !X509_time_adj_ex(X509_getm_notAfter(x.get()), days, 0, nullptr))
    throw_openssl_error("set a certificate's time");
  const auto* bytes = reinterpret_cast<const unsigned char*>(common_name.data());
  require(X509_NAME_add_entry_by_NID(X509_get_subject_name(x.get()), NID_commonName, MBSTRING_UTF8, bytes,
                                     static_cast<int>(common_name.size()), -1, 0),
          std::string("make '").append(common_name).append("' a certificate's common name"));
  require(X509_set_pubkey(x.get(), key), "put a key into a certificate");
  return x;
}

void extend(X509* x, X509* issuer, int extension, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, x, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  const auto action = std::string("write a certificate's ").append(OBJ_nid2ln(extension));
  const auto made = make_owned(X509V3_EXT_nconf_nid(nullptr, &context, extension, value), action);
  require(X509_add_ext(x, made.get(), -1), action);
}

void sign(X509* x, X509* issuer, EVP_PKEY* key) {
  // Edwards curves have a built-in digest and accept no other.
  const bool edwards = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
  require(X509_set_issuer_name(x, X509_get_subject_name(issuer)), "name a certificate's issuer");
  require(X509_sign(x, key, edwards ? nullptr : EVP_sha256()), "sign a certificate");
}

template <class Write>
std::string pem(Write write) {
  const auto memory = make_owned(BIO_new(BIO_s_mem()), "write PEM");
  require(write(memory.get()), "write PEM");
  char* text = nullptr;
  const long length = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(length));
}

std::string day(const ASN1_TIME* when) {
  std::tm utc{};
  require(ASN1_TIME_to_tm(when, &utc), "read a certificate's time");
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d", &utc));
}

// Each CA has a unique name, so that two of them cannot be confused.
std::string authority_name() {
  unsigned char random[4];
  require(RAND_bytes(random, sizeof random), "name a CA");
  char digits[2 * sizeof random + 1];
  std::snprintf(digits, sizeof digits, "%02x%02x%02x%02x", random[0], random[1], random[2], random[3]);
  return std::string("coracle certs CA ").append(digits);
}

openssl_ptr<BIO> open_file(const std::filesystem::path& path) {
  return make_owned(BIO_new_file(path.c_str(), "r"), std::string("open ").append(path.string()));
}

// Without this, OpenSSL would prompt on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

}  // namespace

std::string credential::certificate_pem() const {
  return pem([this](BIO* to) { return PEM_write_bio_X509(to, certificate.get()); });
}

std::string credential::key_pem() const {
  return pem([this](BIO* to) {
    return PEM_write_bio_PKCS8PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string credential::last_day() const { return day(X509_get0_notAfter(certificate.get())); }

credential new_authority() {
  auto key = new_key();
  auto x = new_certificate(key.get(), authority_name(), authority_days);
  extend(x.get(), x.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  extend(x.get(), x.get(), NID_key_usage, "critical,keyCertSign");
  extend(x.get(), x.get(), NID_subject_key_identifier, "hash");
  extend(x.get(), x.get(), NID_authority_key_identifier, "keyid:always");
  sign(x.get(), x.get(), key.get());
  return {std::move(key), std::move(x)};
}

credential read_authority(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  const auto read = [](const std::filesystem::path& path) {
    return std::string("read ").append(path.string());
  };
  credential found;
  found.certificate.reset(PEM_read_bio_X509(open_file(certificate).get(), nullptr, no_passphrase, nullptr));
  if (!found.certificate) throw_openssl_error(read(certificate), "it must be a CA certificate in PEM form");
  found.key.reset(PEM_read_bio_PrivateKey(open_file(key).get(), nullptr, no_passphrase, nullptr));
  if (!found.key) throw_openssl_error(read(key), "it must be the CA's key in PEM form, without a passphrase");

  const auto refuse = [&](std::string_view reason) {
    throw failure(
        certificate.string().append(reason).append("; for a new CA, choose another directory with --out"));
  };
  if (X509_check_ca(found.certificate.get()) != 1) refuse(" is not a CA certificate");
  if (X509_cmp_current_time(X509_get0_notAfter(found.certificate.get())) <= 0)
    refuse(std::string(" has expired on ").append(found.last_day()));
  if (X509_check_private_key(found.certificate.get(), found.key.get()) != 1)
    throw_openssl_error(std::string("sign with ").append(key.string()),
                        std::string("put back the key that belongs to ").append(certificate.string()));
  return found;
}

credential issue(const credential& authority, purpose p, const std::string& common_name,
                 const std::string& alternative_names, int days) {
  auto key = new_key();
  auto x = new_certificate(key.get(), common_name, days);
  X509* issuer = authority.certificate.get();
  const ASN1_TIME* end = X509_get0_notAfter(issuer);
  if (ASN1_TIME_compare(X509_get0_notAfter(x.get()), end) > 0)
    require(X509_set1_notAfter(x.get(), end), "set a certificate's time");
  extend(x.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(x.get(), issuer, NID_key_usage, "critical,digitalSignature");
  extend(x.get(), issuer, NID_ext_key_usage, p == purpose::server ? "serverAuth" : "clientAuth");
  extend(x.get(), issuer, NID_subject_key_identifier, "hash");
  // Falls back to the issuer's name and serial number if the CA has no key identifier.
  extend(x.get(), issuer, NID_authority_key_identifier, "keyid,issuer");
  if (!alternative_names.empty()) extend(x.get(), issuer, NID_subject_alt_name, alternative_names.c_str());
  sign(x.get(), issuer, authority.key.get());
  return {std::move(key), std::move(x)};
}

}  // namespace coracle::tools
