// Files that TLS reads: the first byte says whether the rest is CRLs, as PEM or DER, or a SPIFFE bundle map.
// CRLs list what an independent reading of their entries finds; a bundle map has the CAs of its trust
// domains.
#include "coracle/security/certificates_in_use.hpp"
#include "tls/revocation_lists.hpp"
#include "tls/spiffe_roots.hpp"

#include <openssl/err.h>
#include <openssl/x509.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace coracle;
using namespace coracle::tls;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

template <class T>
using owned = std::unique_ptr<T, void (*)(T*)>;

// A root with the serial number 7, and a certificate of it with the number 5.
class chain_of_test {
 public:
  chain_of_test()
      : key_(EVP_EC_gen("P-256")), root_(signed_by_root(7, "root")), leaf_(signed_by_root(5, "leaf")) {
    require(sk_X509_push(chain_.get(), leaf_.get()) == 1 && sk_X509_push(chain_.get(), root_.get()) == 2);
  }
  [[nodiscard]] X509& root() const { return *root_; }
  [[nodiscard]] X509& leaf() const { return *leaf_; }
  [[nodiscard]] const STACK_OF(X509) & both() const { return *chain_; }
  // As if the root had made it.
  void sign(X509_CRL& crl) const {
    require(X509_CRL_set_issuer_name(&crl, X509_get_subject_name(root_.get())) == 1);
    require(X509_CRL_sign(&crl, key_.get(), EVP_sha256()) > 0);
  }

 private:
  [[nodiscard]] openssl_ptr<X509> signed_by_root(long serial, const char* name) const {
    openssl_ptr<X509> x(X509_new());
    require(x && X509_set_version(x.get(), X509_VERSION_3) == 1);
    require(ASN1_INTEGER_set(X509_get_serialNumber(x.get()), serial) == 1);
    const auto set_name = [](X509_NAME* to, const char* text) {
      require(X509_NAME_add_entry_by_txt(to, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text),
                                         -1, -1, 0) == 1);
    };
    set_name(X509_get_subject_name(x.get()), name);
    set_name(X509_get_issuer_name(x.get()), "root");
    X509_gmtime_adj(X509_getm_notBefore(x.get()), 0);
    X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
    require(X509_set_pubkey(x.get(), key_.get()) == 1);
    require(X509_sign(x.get(), key_.get(), EVP_sha256()) > 0);
    return x;
  }

  openssl_ptr<EVP_PKEY> key_;
  openssl_ptr<X509> root_;
  openssl_ptr<X509> leaf_;
  owned<STACK_OF(X509)> chain_{sk_X509_new_null(), [](STACK_OF(X509) * s) { sk_X509_free(s); }};
};

// Whether an entry has that number, whatever its place in the list.
bool names(X509_CRL& crl, const ASN1_INTEGER& serial) {
  const STACK_OF(X509_REVOKED)* const all = X509_CRL_get_REVOKED(&crl);
  for (int i = 0; i < sk_X509_REVOKED_num(all); ++i)
    if (ASN1_INTEGER_cmp(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(all, i)), &serial) == 0)
      return true;
  return false;
}

void read_crls(const std::string& text) {
  static const chain_of_test chain;
  const auto read = revocation_list::parse(text);
  require(ERR_peek_error() == 0);
  if (!read) {
    require(read.status().code() == status_code::failed_precondition && !read.status().message().empty());
    return;
  }
  require(!read->empty());
  for (const auto& one : *read)
    require(one && one->signature_of(crl_issuer(chain.root())) == crl_signature::invalid);
  // Those of others say nothing about this chain.
  require(revocation_lists(*read, false).check(chain.both(), nullptr).error == X509_V_OK);
  require(revocation_lists(*read, true).check(chain.both(), nullptr).error == X509_V_ERR_UNABLE_TO_GET_CRL);

  // The first one in DER, as if it were of this chain's root.
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const owned<X509_CRL> crl(d2i_X509_CRL(nullptr, &at, static_cast<long>(text.size())), &X509_CRL_free);
  ERR_clear_error();
  if (!crl) return;  // PEM
  chain.sign(*crl);
  unsigned char* der = nullptr;
  const int size = i2d_X509_CRL(crl.get(), &der);
  require(size > 0);
  const std::string own(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  const auto again = revocation_list::parse(own);
  require(ERR_peek_error() == 0);
  if (!again) return;
  require(again->size() == 1);
  for (int i = 0; i < 2; ++i)  // the second time it is remembered
    require(again->front()->signature_of(crl_issuer(chain.root())) == crl_signature::valid);
  const bool revokes_leaf = names(*crl, *X509_get_serialNumber(&chain.leaf()));
  const bool revokes_root = names(*crl, *X509_get_serialNumber(&chain.root()));
  const auto found = revocation_lists(*again, true).check(chain.both(), nullptr);
  require((found.error == X509_V_ERR_CERT_REVOKED) == (revokes_leaf || revokes_root));
  if (revokes_leaf) require(found.at == &chain.leaf());
  else if (revokes_root) require(found.at == &chain.root());
  else require(found.error == X509_V_OK);
}

void read_bundles(const std::string& text) {
  const auto read = spiffe_roots::parse(text);
  require(ERR_peek_error() == 0);
  if (!read) {
    require(read.status().code() == status_code::failed_precondition && !read.status().message().empty());
    return;
  }
  bool has_twins = false;  // members with one name, of which a document has the last one
  std::vector<std::set<std::string>> names_in;
  const auto document =
      nlohmann::json::parse(text, [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
        if (event == nlohmann::json::parse_event_t::object_start) names_in.emplace_back();
        if (event == nlohmann::json::parse_event_t::object_end) names_in.pop_back();
        if (event == nlohmann::json::parse_event_t::key && !names_in.back().insert(parsed).second)
          has_twins = true;
        return true;
      });
  if (has_twins) return;
  // A CA for each key with that use, whose list then has one text.
  std::size_t expected = 0;
  for (const auto& [domain, bundle] : document.at("trust_domains").items()) {
    require(trust_domain_of("spiffe://" + domain) == domain);
    for (const auto& key : bundle.at("keys")) {
      if (!key.contains("use") || key.at("use") != "x509-svid") continue;
      require(key.at("x5c").size() == 1);
      ++expected;
    }
  }
  security::certificates_in_use listed;
  listed.trusted_not_after = std::chrono::system_clock::time_point::max();
  (*read)->list(listed);
  require(listed.trusted_count == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) == 0) read_crls(text);
  else read_bundles(text);
  return 0;
}
