// pem: certificates and keys out of PEM text.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/tls/key_pair.hpp"
#include "coracle/tls/pem_source.hpp"
#include "tls/owned.hpp"

#include <string>
#include <vector>

namespace coracle::tls {

// "the CA file /etc/ca.pem", "the CA": how errors call it.
std::string name_of(const pem_source& s, const char* role);

// At least one certificate. Blocks while it reads a file.
result<std::vector<owned<X509>>> read_certificates(const pem_source& from, const char* role);

// The chain and the key that fits its first certificate.
struct loaded_pair {
  std::vector<owned<X509>> chain;
  owned<EVP_PKEY> key;
};
result<loaded_pair> read_pair(const key_pair& from);

// The certificates as PEM text.
std::string to_pem(X509& certificate);

}  // namespace coracle::tls
