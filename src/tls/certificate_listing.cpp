#include "tls/certificate_listing.hpp"

#include "tls/peer.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tls {

namespace {

using std::chrono::system_clock;

constexpr auto never_expires = system_clock::time_point::max();

// Zero for a time that is no time.
system_clock::time_point time_of(const ASN1_TIME* t) {
  std::tm utc{};
  if (!t || ASN1_TIME_to_tm(t, &utc) != 1) return {};
  using namespace std::chrono;
  const sys_days day = year(utc.tm_year + 1900) / (utc.tm_mon + 1) / utc.tm_mday;
  const sys_seconds at = day + hours(utc.tm_hour) + minutes(utc.tm_min) + seconds(utc.tm_sec);
  // RFC 5280 4.1.2.5: 99991231235959Z is that of certificates without an end, and more than nanoseconds can
  // hold.
  if (at >= floor<seconds>(never_expires)) return never_expires;
  if (at <= ceil<seconds>(system_clock::time_point::min())) return system_clock::time_point::min();
  return at;
}

std::string name_text(const X509_NAME* name) {
  const openssl_ptr<BIO> bio(BIO_new(BIO_s_mem()));
  // UTF-8 stays as it is; control characters are escaped.
  const unsigned long form = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
  if (!bio || !name || X509_NAME_print_ex(bio.get(), name, 0, form) < 0) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string hex_of(const unsigned char* bytes, std::size_t n) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    text.push_back(digits[bytes[i] >> 4]);
    text.push_back(digits[bytes[i] & 15]);
  }
  return text;
}

std::string serial_of(const X509* x) {
  const ASN1_INTEGER* const serial = X509_get0_serialNumber(x);
  if (!serial) return {};
  return hex_of(ASN1_STRING_get0_data(serial), static_cast<std::size_t>(ASN1_STRING_length(serial)));
}

std::string fingerprint_of(const X509* x) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (X509_digest(x, EVP_sha256(), digest.data(), &size) != 1) return {};
  return hex_of(digest.data(), size);
}

std::string key_type_of(const X509* x) {
  const EVP_PKEY* const key = X509_get0_pubkey(x);
  const char* const name = key ? EVP_PKEY_get0_type_name(key) : nullptr;
  if (!name) return {};
  std::array<char, 80> group{};
  std::size_t size = 0;
  if (EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) == 1)
    return std::string(name) + " " + group.data();
  // Keys on Edwards curves have one size for each type.
  if (EVP_PKEY_is_a(key, "RSA") != 1 && EVP_PKEY_is_a(key, "RSA-PSS") != 1) return name;
  return std::string(name) + " " + std::to_string(EVP_PKEY_get_bits(key));
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    const auto lower = [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : int{c}; };
    return lower(x) == lower(y);
  });
}

bool has_name(const std::vector<peer_identity>& names, std::string_view name) {
  return std::ranges::any_of(names, [&](const peer_identity& one) {
    return one.type() == peer_identity::kind::dns_name && same_name(one.value(), name);
  });
}

}  // namespace

security::listed_certificate list_certificate(SSL_CTX& context, const pem_source& from) {
  security::listed_certificate to;
  X509* const x = SSL_CTX_get0_certificate(&context);
  to.subject = name_text(X509_get_subject_name(x));
  to.issuer = name_text(X509_get_issuer_name(x));
  to.names = identities_of(x);
  std::erase_if(to.names,
                [](const peer_identity& i) { return i.type() == peer_identity::kind::common_name; });
  to.serial = serial_of(x);
  to.sha256 = fingerprint_of(x);
  to.key_type = key_type_of(x);
  to.not_before = time_of(X509_get0_notBefore(x));
  to.not_after = time_of(X509_get0_notAfter(x));
  to.chain_size = 1;
  to.chain_not_after = to.not_after;
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(&context, &chain);
  for (int i = 0; chain && i < sk_X509_num(chain); ++i, ++to.chain_size)
    to.chain_not_after = std::min(to.chain_not_after, time_of(X509_get0_notAfter(sk_X509_value(chain, i))));
  if (from.is_file()) to.file = from.value();
  ERR_clear_error();
  return to;
}

void list_server_names(std::vector<security::listed_certificate>& to, const std::vector<X509*>& all) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].is_default = i == 0;
    // The CN of a certificate without DNS names stands for one, as in X509_check_host().
    std::vector<peer_identity> names = identities_of(all[i]);
    std::string common_name;
    for (const peer_identity& one : names)
      if (one.type() == peer_identity::kind::common_name) common_name = one.value();
    std::erase_if(names,
                  [](const peer_identity& one) { return one.type() != peer_identity::kind::dns_name; });
    if (names.empty() && !common_name.empty())
      names.emplace_back(peer_identity::kind::dns_name, std::move(common_name));
    for (const peer_identity& one : names) {
      bool taken = false;
      for (std::size_t earlier = 0; earlier < i && !taken; ++earlier)
        taken = has_name(to[earlier].names, one.value()) ||
                X509_check_host(all[earlier], one.value().data(), one.value().size(), 0, nullptr) == 1;
      if (!taken) to[i].server_names.push_back(one.value());
    }
  }
  ERR_clear_error();
}

void list_trusted_ca(const X509& ca, security::certificates_in_use& to) {
  ++to.trusted_count;
  to.trusted_not_after = std::min(to.trusted_not_after, time_of(X509_get0_notAfter(&ca)));
}

void list_trusted(SSL_CTX& context, security::trusted_cas which, security::certificates_in_use& to) {
  to.trusted = which;
  if (which != security::trusted_cas::program) return;
  to.trusted_not_after = never_expires;
  const STACK_OF(X509_OBJECT)* const all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(&context));
  for (int i = 0; i < sk_X509_OBJECT_num(all); ++i) {
    const X509* const x = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
    if (x) list_trusted_ca(*x, to);
  }
}

}  // namespace coracle::tls
