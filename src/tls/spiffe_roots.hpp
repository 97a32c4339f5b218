// spiffe_roots: CAs by the trust domain of the peer (a SPIFFE bundle map; gRFC A87).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/security/certificates_in_use.hpp"
#include "tls/openssl_ptr.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tls {

// The trust domain of a SPIFFE id, "example.org" of "spiffe://example.org/web"; empty if it is not valid
// (SPIFFE ID and SVID, 2).
[[nodiscard]] std::string_view trust_domain_of(std::string_view id) noexcept;

// Immutable; any thread may use it.
class spiffe_roots {
 public:
  // Parses `{"trust_domains": {"example.org": {"keys": [{"use": "x509-svid", "x5c": ["..."]}]}}}`: a JWKS for
  // each trust domain, of whose keys those with another use are ignored. A map without domains is valid, and
  // accepts no peer. A part that is invalid, or of another type, makes the whole map invalid:
  // FAILED_PRECONDITION, which says what is wrong with the text: "is not valid JSON".
  [[nodiscard]] static result<std::unique_ptr<const spiffe_roots>> parse(std::string_view text);
  // The same of a file, which an error names. Blocks while it reads the file.
  [[nodiscard]] static result<std::unique_ptr<const spiffe_roots>> read(const std::string& file);

  // Has the connections of the context verify their peers by these, which must outlive them.
  void verify_in(SSL_CTX& context) const;
  // Adds the CAs to those that are trusted.
  void list(security::certificates_in_use& to) const;

 private:
  class reader;
  struct stack_deleter {
    void operator()(STACK_OF(X509) * s) const noexcept { sk_X509_pop_free(s, X509_free); }
  };
  using authorities = std::unique_ptr<STACK_OF(X509), stack_deleter>;

  static int verify(X509_STORE_CTX* chain, void* self) noexcept;
  [[nodiscard]] STACK_OF(X509) * roots_of(const X509& leaf, std::string& problem) const;

  std::map<std::string, authorities, std::less<>> by_domain_;
};

}  // namespace coracle::tls
