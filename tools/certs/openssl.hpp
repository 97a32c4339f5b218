// openssl: owning pointers to OpenSSL's objects, and its errors as exceptions.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::tools {

struct freed_by_openssl {
  void operator()(BIO* b) const noexcept { BIO_free(b); }
  void operator()(BIGNUM* n) const noexcept { BN_free(n); }
  void operator()(EVP_PKEY* k) const noexcept { EVP_PKEY_free(k); }
  void operator()(X509* x) const noexcept { X509_free(x); }
  void operator()(X509_EXTENSION* e) const noexcept { X509_EXTENSION_free(e); }
};

template <class T>
using owned = std::unique_ptr<T, freed_by_openssl>;

// Throws failure: "cannot <to_do>: " and OpenSSL's reason, followed by `mend`, a suggested fix, if there is
// one.
[[noreturn]] void fail_as_openssl_says(std::string_view to_do, std::string_view mend = {});

// For functions that return 1 (or a length) on success.
inline void require(int done, std::string_view to_do) {
  if (done <= 0) fail_as_openssl_says(to_do);
}
// For functions that make an object.
template <class T>
owned<T> own(T* made, std::string_view to_do) {
  if (!made) fail_as_openssl_says(to_do);
  return owned<T>(made);
}

}  // namespace coracle::tools
