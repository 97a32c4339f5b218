// Where TLS credentials get their certificates from.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/support/config.h>

#include <string>
#include <utility>
#include <vector>

namespace grpc::experimental {

/// A private key and its certificates, as PEM texts.
struct IdentityKeyCertPair {
  std::string private_key;
  std::string certificate_chain;
};

/// The base of the two classes below; programs do not derive from it.
class CertificateProviderInterface {
 public:
  virtual ~CertificateProviderInterface() = default;

  // For the library: PEM texts, or the paths of files.
  struct sources {
    bool files = false;
    std::string roots;  // empty: none
    std::vector<IdentityKeyCertPair> identities;
  };
  const sources& from() const { return from_; }

 protected:
  explicit CertificateProviderInterface(sources from) : from_(std::move(from)) {}

 private:
  const sources from_;
};

class StaticDataCertificateProvider : public CertificateProviderInterface {
 public:
  StaticDataCertificateProvider(const std::string& root_certificate,
                                const std::vector<IdentityKeyCertPair>& identity_key_cert_pairs)
      : CertificateProviderInterface({false, root_certificate, identity_key_cert_pairs}) {}
  explicit StaticDataCertificateProvider(const std::string& root_certificate)
      : StaticDataCertificateProvider(root_certificate, {}) {}
  explicit StaticDataCertificateProvider(const std::vector<IdentityKeyCertPair>& identity_key_cert_pairs)
      : StaticDataCertificateProvider("", identity_key_cert_pairs) {}
};

/// Reads files, and reads them again when they have changed: new connections use the new certificates. Changes
/// are noticed when a connection is made, whatever refresh_interval_sec says.
class FileWatcherCertificateProvider final : public CertificateProviderInterface {
 public:
  FileWatcherCertificateProvider(const std::string& private_key_path,
                                 const std::string& identity_certificate_path,
                                 const std::string& root_cert_path, unsigned int /*refresh_interval_sec*/)
      : CertificateProviderInterface({true, root_cert_path, pairs(private_key_path, identity_certificate_path)}) {}
  FileWatcherCertificateProvider(const std::string& private_key_path,
                                 const std::string& identity_certificate_path, unsigned int refresh_interval_sec)
      : FileWatcherCertificateProvider(private_key_path, identity_certificate_path, "", refresh_interval_sec) {}
  FileWatcherCertificateProvider(const std::string& root_cert_path, unsigned int refresh_interval_sec)
      : FileWatcherCertificateProvider("", "", root_cert_path, refresh_interval_sec) {}

 private:
  static std::vector<IdentityKeyCertPair> pairs(const std::string& key, const std::string& certificate) {
    if (key.empty() && certificate.empty()) return {};
    return {{key, certificate}};
  }
};

}  // namespace grpc::experimental
