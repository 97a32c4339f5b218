// certificate: makes certificates with their keys: a CA, and the certificates that it signs.
#pragma once

#include "tools/certs/openssl.hpp"

#include <filesystem>
#include <string>

namespace coracle::tools {

// All of these functions throw failure, with OpenSSL's reason.
struct credential {
  openssl_ptr<EVP_PKEY> key;
  openssl_ptr<X509> certificate;

  [[nodiscard]] std::string certificate_pem() const;
  [[nodiscard]] std::string key_pem() const;   // PKCS#8, not encrypted
  [[nodiscard]] std::string last_day() const;  // "2029-02-25", UTC
};

enum class purpose { server, client };

// A CA valid for ten years, which may sign certificates of servers and clients but no further CAs.
credential new_authority();

// Reads an existing CA. It must still be valid, and the key must match the certificate.
credential read_authority(const std::filesystem::path& certificate, const std::filesystem::path& key);

// Issues a certificate signed by `authority`, with a new key on P-256; valid for `days`, but no longer than
// the authority itself. `alternative_names`: see subject_alternative_names(); empty means none.
credential issue(const credential& authority, purpose p, const std::string& common_name,
                 const std::string& alternative_names, int days);

}  // namespace coracle::tools
