// openssl_ptr: owning pointers to OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace coracle::tls {

struct openssl_deleter {
  void operator()(BIO* b) const noexcept { BIO_free(b); }
  void operator()(BIO_METHOD* m) const noexcept { BIO_meth_free(m); }
  void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
  void operator()(GENERAL_NAMES* n) const noexcept { GENERAL_NAMES_free(n); }
  void operator()(SSL* s) const noexcept { SSL_free(s); }
  void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
  void operator()(SSL_SESSION* s) const noexcept { SSL_SESSION_free(s); }
  void operator()(X509* x) const noexcept { X509_free(x); }
};

template <class T>
using openssl_ptr = std::unique_ptr<T, openssl_deleter>;

}  // namespace coracle::tls
