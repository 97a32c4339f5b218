// openssl: owning pointers to OpenSSL's objects, and its errors as exceptions.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::tools {

struct openssl_deleter {
  void operator()(BIO* b) const noexcept { BIO_free(b); }
  void operator()(BIGNUM* n) const noexcept { BN_free(n); }
  void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
  void operator()(SSL* s) const noexcept { SSL_free(s); }
  void operator()(SSL_CTX* c) const noexcept { SSL_CTX_free(c); }
  void operator()(X509* x) const noexcept { X509_free(x); }
  void operator()(X509_EXTENSION* e) const noexcept { X509_EXTENSION_free(e); }
};

template <class T>
using openssl_ptr = std::unique_ptr<T, openssl_deleter>;

// Throws failure: "cannot <attempt>: " and OpenSSL's reason, followed by `fix`, a suggested fix, if there is
// one.
[[noreturn]] void throw_openssl_error(std::string_view attempt, std::string_view fix = {});

// For functions that return 1 (or a length) on success.
inline void require(int done, std::string_view attempt) {
  if (done <= 0) throw_openssl_error(attempt);
}
// For functions that make an object.
template <class T>
openssl_ptr<T> make_owned(T* made, std::string_view attempt) {
  if (!made) throw_openssl_error(attempt);
  return openssl_ptr<T>(made);
}

}  // namespace coracle::tools
