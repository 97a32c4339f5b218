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
  void operator()(CRL_DIST_POINTS* p) const noexcept { CRL_DIST_POINTS_free(p); }
  void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
  void operator()(GENERAL_NAMES* n) const noexcept { GENERAL_NAMES_free(n); }
  void operator()(ISSUING_DIST_POINT* p) const noexcept { ISSUING_DIST_POINT_free(p); }
  void operator()(SSL* s) const noexcept { SSL_free(s); }
  void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
  void operator()(SSL_SESSION* s) const noexcept { SSL_SESSION_free(s); }
  void operator()(X509* x) const noexcept { X509_free(x); }
  void operator()(X509_CRL* c) const noexcept { X509_CRL_free(c); }
  void operator()(STACK_OF(X509) * s) const noexcept { sk_X509_pop_free(s, &X509_free); }
};

template <class T>
using openssl_ptr = std::unique_ptr<T, openssl_deleter>;

// For what reads PEM: without it, OpenSSL asks on the terminal for the password of a file that has one.
inline int no_password(char*, int, int, void*) noexcept { return -1; }

}  // namespace coracle::tls
