// tls::revocation_options: which certificates of peers are rejected although a trusted CA has issued them.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/tls/limits.hpp"

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle::tls {

/// The certificate revocation lists (CRLs, RFC 5280) by which the certificates of peers are verified, as gRFC
/// A69 specifies:
///
///   coracle::tls::client_options tls;
///   tls.revocation.directory = "/etc/movies/crls";
///
/// The handshake fails if a CRL lists a certificate of the peer's chain. Only a CRL counts that the issuer of
/// that certificate has signed, with a key that may sign CRLs (keyUsage). A CRL whose nextUpdate has passed
/// still counts: an old list is better than none. A CRL for some certificates only, such as those of one
/// distribution point, tells nothing of the others (RFC 5280 6.3.3). All CRLs of an issuer count together,
/// whatever their numbers are: what an old list names stays revoked beside a new one. Indirect CRLs, delta
/// CRLs and those for attribute certificates or some reasons only are not supported: a text or a file with
/// one of them cannot be used at all. Open connections stay when a certificate is revoked; sessions from
/// before are not resumed.
class revocation_options {
 public:
  /// No CRLs: no certificate is revoked.
  revocation_options() noexcept {}
  /// CRLs as PEM texts, each with one or more of them. Default: none.
  std::vector<std::string> pem;
  /// The path of a directory with files of CRLs, each PEM or DER, whatever their names are; those that begin
  /// with "." are ignored. It is read when the security object is built, which fails if the directory cannot
  /// be read, but not for single files or if it has none: set `deny_undetermined` to accept nothing then. It
  /// is read again with the first connection, then after each `interval`, off the loops, and by reload(). If
  /// a file cannot be read then, the CRLs of the others are updated, all others stay, and the log has one
  /// error. Replace files by renaming others. Default: empty, for none.
  std::string directory;
  /// How often the directory is read, at least limits::crl_interval_min. Default: 1 h.
  duration interval = limits::crl_interval;
  /// Whether the handshake also fails if no CRL counts for a certificate of the chain. Default: false, which
  /// accepts it.
  bool deny_undetermined = false;
  /// Called with each error of reading the directory, on a thread that may block. It cannot change what is
  /// accepted. Exceptions are ignored. Default: none.
  std::function<void(const status&)> on_error;

  /// Compares all options. Options with an `on_error` equal no others, because functions cannot be compared.
  friend bool operator==(const revocation_options& a, const revocation_options& b) noexcept {
    return a.pem == b.pem && a.directory == b.directory && a.interval == b.interval &&
           a.deny_undetermined == b.deny_undetermined && !a.on_error && !b.on_error;
  }
};
static_assert(!std::is_aggregate_v<revocation_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::tls
