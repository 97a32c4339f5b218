#include "tls/revocation_lists.hpp"

#include "tls/error_queue.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <limits>
#include <string_view>
#include <utility>

namespace coracle::tls {

namespace {

using read_lists = std::vector<std::shared_ptr<const revocation_list>>;

// RFC 5280 5.2.5
const char* read_part(X509_CRL& crl, openssl_ptr<ISSUING_DIST_POINT>& to) {
  to.reset(static_cast<ISSUING_DIST_POINT*>(
      X509_CRL_get_ext_d2i(&crl, NID_issuing_distribution_point, nullptr, nullptr)));
  if (!to) return "has a CRL with an invalid extension";
  if (to->indirectCRL > 0) return "has an indirect CRL, which is not supported";
  if (to->onlyattr > 0 || to->onlysomereasons)
    return "has a CRL for attribute certificates or some reasons only, which is not supported";
  if (to->onlyuser > 0 && to->onlyCA > 0) return "has a CRL with an invalid extension";
  // The name may be relative to that of the issuer.
  if (to->distpoint && DIST_POINT_set_dpname(to->distpoint, X509_CRL_get_issuer(&crl)) != 1)
    return "has a CRL with an invalid extension";
  return nullptr;
}

// RFC 5280 5.2, 5.3: a CRL with a critical extension that is not understood cannot be used. Null: none.
const char* problem_of_extensions(X509_CRL* crl, openssl_ptr<ISSUING_DIST_POINT>& part) {
  if (X509_CRL_get_ext_by_NID(crl, NID_delta_crl, -1) >= 0) return "has a delta CRL, which is not supported";
  if (X509_CRL_get_ext_by_NID(crl, NID_issuing_distribution_point, -1) >= 0)
    if (const char* const problem = read_part(*crl, part)) return problem;
  constexpr const char* unknown = "has a CRL with a critical extension that is not supported";
  for (int i = 0; i < X509_CRL_get_ext_count(crl); ++i) {
    X509_EXTENSION* const one = X509_CRL_get_ext(crl, i);
    if (X509_EXTENSION_get_critical(one) == 0) continue;
    const int name = OBJ_obj2nid(X509_EXTENSION_get_object(one));
    if (name != NID_issuing_distribution_point && name != NID_authority_key_identifier &&
        name != NID_crl_number)
      return unknown;
  }
  const STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(crl);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(entries, i);
    if (X509_REVOKED_get_ext_by_critical(entry, 1, -1) >= 0) return unknown;
  }
  return nullptr;
}

status add(read_lists& to, openssl_ptr<X509_CRL> crl) {
  openssl_ptr<ISSUING_DIST_POINT> part;
  if (const char* const problem = problem_of_extensions(crl.get(), part)) {
    ERR_clear_error();
    return status::failed_precondition(problem);
  }
  // The first search sorts the list. Not in a handshake.
  X509_REVOKED* none = nullptr;
  const std::unique_ptr<ASN1_INTEGER, decltype(&ASN1_INTEGER_free)> zero(ASN1_INTEGER_new(),
                                                                         &ASN1_INTEGER_free);
  if (zero) X509_CRL_get0_by_serial(crl.get(), &none, zero.get());
  ERR_clear_error();
  to.push_back(std::make_shared<const revocation_list>(std::move(crl), std::move(part)));
  return {};
}

}  // namespace

result<read_lists> revocation_list::parse(const std::string& text) {
  read_lists found;
  ERR_clear_error();
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return status::failed_precondition("is too large");
  if (text.find("-----BEGIN ") == std::string::npos) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    const auto* const end = at + text.size();
    openssl_ptr<X509_CRL> one(d2i_X509_CRL(nullptr, &at, static_cast<long>(text.size())));
    ERR_clear_error();
    if (!one || at != end) return status::failed_precondition("has no CRL");
    if (status s = add(found, std::move(one)); !s.ok()) return s;
    return found;
  }
  const openssl_ptr<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  while (openssl_ptr<X509_CRL> one{bio ? PEM_read_bio_X509_CRL(bio.get(), nullptr, &no_password, nullptr)
                                       : nullptr})
    if (status s = add(found, std::move(one)); !s.ok()) return s;
  // The end of the text is reported as "no start line".
  const bool clean = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_error("it cannot be parsed");
  if (!clean) return status::failed_precondition("has a CRL that is not valid: " + reason);
  if (found.empty()) return status::failed_precondition("has no CRL (-----BEGIN X509 CRL-----)");
  return found;
}

crl_issuer::crl_issuer(X509& of) noexcept : of_(of) {
  if ((X509_get_key_usage(&of) & KU_CRL_SIGN) == 0) return;  // all bits without a keyUsage
  digest key{};
  unsigned size = 0;
  if (!X509_get0_pubkey(&of)) {  // of an algorithm that OpenSSL does not have
  } else if (X509_pubkey_digest(&of, EVP_sha256(), key.data(), &size) == 1 && size == key.size()) {
    key_ = key;
  } else {
    has_failed_ = true;
  }
  ERR_clear_error();
}

namespace {

// Whether OpenSSL could not verify a signature because it is none that the key can make: of another
// algorithm, or malformed. Errors such as a lack of memory are fatal ones, or leave none.
bool cannot_be_of_key() noexcept {
  bool found = false;
  while (const unsigned long e = ERR_get_error()) {
    // Follows another, such as that of invalid parameters of RSA-PSS. Alone, it is a failure.
    if (ERR_GET_LIB(e) == ERR_LIB_ASN1 && ERR_GET_REASON(e) == ERR_R_INTERNAL_ERROR) continue;
    if (ERR_FATAL_ERROR(e)) return ERR_clear_error(), false;
    found = true;
  }
  return found;
}

}  // namespace

crl_signature revocation_list::signature_of(const crl_issuer& of) const noexcept {
  const std::optional<digest>& key = of.key();
  if (!key) return of.has_failed() ? crl_signature::unknown : crl_signature::invalid;
  {
    const std::lock_guard lock(mutex_);
    if (verified_key_ == key) return crl_signature::valid;
    if (refused_key_ == key) return crl_signature::invalid;
  }
  ERR_clear_error();
  const int outcome = X509_CRL_verify(crl_.get(), X509_get0_pubkey(&of.certificate()));
  // OpenSSL calls some failures a wrong signature. After one, the next handshake tries again.
  const bool refused = outcome != 1 && cannot_be_of_key();
  if (outcome != 1 && !refused) return crl_signature::unknown;
  ERR_clear_error();
  const std::lock_guard lock(mutex_);
  if (refused) {
    refused_key_ = key;
    return crl_signature::invalid;
  }
  verified_key_ = key;
  X509_up_ref(&of.certificate());
  verified_by_.reset(&of.certificate());
  return crl_signature::valid;
}

void revocation_list::verify_as(const revocation_list& replaced) const noexcept {
  openssl_ptr<X509> issuer;
  {
    const std::lock_guard lock(replaced.mutex_);
    if (!replaced.verified_by_) return;
    X509_up_ref(replaced.verified_by_.get());
    issuer.reset(replaced.verified_by_.get());
  }
  static_cast<void>(signature_of(crl_issuer(*issuer)));  // which keeps the result
}

bool revocation_list::is_verified() const noexcept {
  const std::lock_guard lock(mutex_);
  return verified_key_.has_value();
}

namespace {

bool has_directory_name(const GENERAL_NAMES& names, const X509_NAME& wanted) noexcept {
  for (int i = 0; i < sk_GENERAL_NAME_num(&names); ++i) {
    const GENERAL_NAME* const one = sk_GENERAL_NAME_value(&names, i);
    if (one->type == GEN_DIRNAME && X509_NAME_cmp(one->d.directoryName, &wanted) == 0) return true;
  }
  return false;
}

// Whether they have a name in common: both full names, or one that is relative to the issuer's, which
// DIST_POINT_set_dpname() has completed.
bool is_same_point(const DIST_POINT_NAME& a, const DIST_POINT_NAME& b) noexcept {
  constexpr int full = 0;
  if (a.type != full && b.type != full) return a.dpname && b.dpname && X509_NAME_cmp(a.dpname, b.dpname) == 0;
  if (a.type != full) return a.dpname && has_directory_name(*b.name.fullname, *a.dpname);
  if (b.type != full) return b.dpname && has_directory_name(*a.name.fullname, *b.dpname);
  for (int i = 0; i < sk_GENERAL_NAME_num(a.name.fullname); ++i)
    for (int j = 0; j < sk_GENERAL_NAME_num(b.name.fullname); ++j)
      if (GENERAL_NAME_cmp(sk_GENERAL_NAME_value(a.name.fullname, i),
                           sk_GENERAL_NAME_value(b.name.fullname, j)) == 0)
        return true;
  return false;
}

}  // namespace

// The points of a certificate that name other issuers are for indirect CRLs, and those with reasons for CRLs
// of some reasons. One without points has the name of its issuer as its point.
bool revocation_list::covers(X509& certificate) const noexcept {
  if (!part_) return true;
  const bool is_ca = (X509_get_extension_flags(&certificate) & EXFLAG_CA) != 0;
  if ((part_->onlyuser > 0 && is_ca) || (part_->onlyCA > 0 && !is_ca)) return false;
  if (!part_->distpoint) return true;
  const DIST_POINT_NAME& mine = *part_->distpoint;
  int critical = 0;
  const openssl_ptr<CRL_DIST_POINTS> points(static_cast<CRL_DIST_POINTS*>(
      X509_get_ext_d2i(&certificate, NID_crl_distribution_points, &critical, nullptr)));
  ERR_clear_error();
  const X509_NAME& issuer = *X509_get_issuer_name(&certificate);
  if (!points) {
    constexpr int absent = -1;
    if (critical != absent) return false;
    return mine.type == 0 ? has_directory_name(*mine.name.fullname, issuer)
                          : mine.dpname && X509_NAME_cmp(mine.dpname, &issuer) == 0;
  }
  for (int i = 0; i < sk_DIST_POINT_num(points.get()); ++i) {
    DIST_POINT* const one = sk_DIST_POINT_value(points.get(), i);
    if (!one->distpoint || one->CRLissuer || one->reasons) continue;
    if (DIST_POINT_set_dpname(one->distpoint, &issuer) == 1 && is_same_point(mine, *one->distpoint))
      return true;
  }
  ERR_clear_error();
  return false;
}

// removeFromCRL belongs to delta CRLs: what is listed is revoked.
bool revocation_list::lists(X509& certificate) const noexcept {
  X509_REVOKED* entry = nullptr;
  return X509_CRL_get0_by_cert(crl_.get(), &entry, &certificate) != 0;
}

namespace {

std::uint64_t next_generation() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

revocation_lists::revocation_lists(const all& lists, bool deny_undetermined)
    : deny_undetermined_(deny_undetermined), generation_(next_generation()) {
  for (const auto& one : lists) by_issuer_[one->issuer()].push_back(one);
}

// An issuer may have several lists, of several keys or in several parts: each of them may revoke.
revocation_lists::verdict revocation_lists::judge(X509& certificate, X509& issuer) const noexcept {
  const auto found = by_issuer_.find(X509_get_issuer_name(&certificate));
  if (found == by_issuer_.end()) return verdict::undetermined;
  verdict so_far = verdict::undetermined;
  const crl_issuer by(issuer);
  for (const auto& one : found->second) {
    const crl_signature signature = one->signature_of(by);
    if (signature == crl_signature::invalid) continue;
    if (signature == crl_signature::unknown) {
      so_far = verdict::failed;
      continue;
    }
    if (one->lists(certificate)) return verdict::revoked;
    if (so_far != verdict::failed && one->covers(certificate)) so_far = verdict::unrevoked;
  }
  return so_far;
}

// The last certificate is trusted by the program. If it is a root, its own list may revoke it, and otherwise
// that of its issuer, if the program trusts this one, too.
revocation_lists::finding revocation_lists::check(const STACK_OF(X509) & chain, X509* above) const noexcept {
  finding worst;
  for (int i = 0; i < sk_X509_num(&chain); ++i) {
    X509& one = *sk_X509_value(&chain, i);
    X509* by = i + 1 < sk_X509_num(&chain) ? sk_X509_value(&chain, i + 1) : above;
    if (!by && X509_NAME_cmp(X509_get_subject_name(&one), X509_get_issuer_name(&one)) == 0) by = &one;
    if (!by) break;
    switch (judge(one, *by)) {
      case verdict::unrevoked: break;
      case verdict::revoked: return {X509_V_ERR_CERT_REVOKED, &one};
      case verdict::failed: worst = {X509_V_ERR_UNSPECIFIED, &one}; break;
      case verdict::undetermined:
        if (deny_undetermined_ && worst.error == X509_V_OK) worst = {X509_V_ERR_UNABLE_TO_GET_CRL, &one};
        break;
    }
  }
  return worst;
}

void revocation_lists::verify_by(const STACK_OF(X509) & issuers) const noexcept {
  for (int i = 0; i < sk_X509_num(&issuers); ++i) {
    X509& issuer = *sk_X509_value(&issuers, i);
    const auto found = by_issuer_.find(X509_get_subject_name(&issuer));
    if (found == by_issuer_.end()) continue;
    const crl_issuer by(issuer);
    for (const auto& one : found->second) static_cast<void>(one->signature_of(by));
  }
}

void revocation_lists::verify_as(const revocation_lists& replaced) const noexcept {
  for (const auto& [issuer, lists] : by_issuer_) {
    const auto before = replaced.by_issuer_.find(issuer);
    if (before == replaced.by_issuer_.end()) continue;
    for (const auto& one : lists)
      for (const auto& old : before->second)
        if (!one->is_verified()) one->verify_as(*old);
  }
}

std::size_t revocation_lists::unverified() const noexcept {
  std::size_t n = 0;
  for (const auto& [issuer, lists] : by_issuer_)
    for (const auto& one : lists) n += one->is_verified() ? 0 : 1;
  return n;
}

}  // namespace coracle::tls
