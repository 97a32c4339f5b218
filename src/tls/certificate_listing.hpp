// certificate_listing: describes the certificates of an SSL_CTX for operators.
#pragma once

#include "coracle/security/certificates_in_use.hpp"
#include "coracle/tls/key_pair.hpp"
#include "tls/openssl_ptr.hpp"

#include <vector>

namespace coracle::tls {

// The context has a certificate, which is from that source.
security::listed_certificate list_certificate(SSL_CTX& context, const pem_source& from);

// Sets which names a server presents each certificate for, after it has all of them. `all` has the
// certificates of `to`, in the same order.
void list_server_names(std::vector<security::listed_certificate>& to, const std::vector<X509*>& all);

// Adds the CAs that the context trusts. Before connections use it, because OpenSSL may add to them.
void list_trusted(SSL_CTX& context, security::trusted_cas which, security::certificates_in_use& to);
// Adds one of these.
void list_trusted_ca(const X509& ca, security::certificates_in_use& to);

}  // namespace coracle::tls
