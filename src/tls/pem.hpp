// pem: reads certificates and keys from PEM text.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/tls/key_pair.hpp"
#include "tls/openssl_ptr.hpp"

#include <string>
#include <vector>

namespace coracle::tls {

// Returns the name for error messages: "the CA file /etc/ca.pem", "the CA that was given as text".
std::string name_of(const pem_source& s, const char* role);

// Returns at least one certificate. Blocks while it reads a file.
result<std::vector<openssl_ptr<X509>>> read_certificates(const pem_source& from, const char* role);

// A certificate chain, and the key that matches its first certificate.
struct loaded_pair {
  std::vector<openssl_ptr<X509>> chain;
  openssl_ptr<EVP_PKEY> key;
};
result<loaded_pair> read_pair(const key_pair& from);

// Returns the certificate as PEM text.
std::string to_pem(X509& certificate);

}  // namespace coracle::tls
