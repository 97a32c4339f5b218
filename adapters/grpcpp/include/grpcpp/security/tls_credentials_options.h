// The options of TlsCredentials() and TlsServerCredentials().
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_crl_provider.h>
#include <grpcpp/support/config.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace grpc::experimental {

/// What both sides have.
class TlsCredentialsOptions {
 public:
  void set_certificate_provider(std::shared_ptr<CertificateProviderInterface> provider) {
    provider_ = std::move(provider);
  }
  /// The provider's roots are the trusted CAs. Without it a client trusts those of the system.
  void watch_root_certs() { roots_ = true; }
  /// The provider's identity is what this side presents.
  void watch_identity_key_cert_pairs() { identities_ = true; }
  /// These two have no effect: a provider has one set of roots and of identities.
  void set_root_cert_name(const std::string& /*name*/) {}
  void set_identity_cert_name(const std::string& /*name*/) {}
  /// Runs after the verification of the certificate, which it cannot replace: a client always verifies the name of
  /// its target, unless set_verify_server_certs(false).
  void set_certificate_verifier(std::shared_ptr<CertificateVerifier> verifier) { verifier_ = std::move(verifier); }
  /// Whether the server's certificate must have the name of ClientContext::set_authority() as well; without it the call
  /// ends with UNAVAILABLE. Default: true.
  void set_check_call_host(bool check) { check_call_host_ = check; }
  /// The certificates of the other side are verified by the provider's CRLs, if they are verified.
  void set_crl_provider(std::shared_ptr<CrlProvider> provider) { crls_ = std::move(provider); }
  /// The same by the CRLs of a directory, whatever the names of its files are. It is read again each minute.
  void set_crl_directory(const std::string& path) {
    crls_ = std::make_shared<CrlProvider>(CrlProvider::sources{{}, path, std::chrono::minutes(1), false, {}});
  }
  void set_tls_session_key_log_file_path(const std::string& path)
      CORACLE_GRPCPP_MISSING("the keys of sessions are not logged: InsecureChannelCredentials(), to see what is sent");

  // For the library.
  const CertificateProviderInterface* roots() const { return roots_ ? provider_.get() : nullptr; }
  const CertificateProviderInterface* identities() const { return identities_ ? provider_.get() : nullptr; }
  const std::shared_ptr<CertificateVerifier>& verifier() const { return verifier_; }
  const CrlProvider* crls() const { return crls_.get(); }
  bool checks_call_host() const { return check_call_host_; }

 private:
  std::shared_ptr<CertificateProviderInterface> provider_;
  std::shared_ptr<CertificateVerifier> verifier_;
  std::shared_ptr<CrlProvider> crls_;
  bool roots_ = false;
  bool identities_ = false;
  bool check_call_host_ = true;
};

class TlsChannelCredentialsOptions final : public TlsCredentialsOptions {
 public:
  /// False: every certificate is accepted, if the verifier accepts it. Default: true.
  void set_verify_server_certs(bool verify) { verify_ = verify; }

  // For the library.
  bool verifies() const { return verify_; }

 private:
  bool verify_ = true;
};

class TlsServerCredentialsOptions final : public TlsCredentialsOptions {
 public:
  explicit TlsServerCredentialsOptions(std::shared_ptr<CertificateProviderInterface> provider) {
    set_certificate_provider(std::move(provider));
  }
  /// Default: certificates of clients are not requested.
  void set_cert_request_type(grpc_ssl_client_certificate_request_type type) { type_ = type; }

  // For the library.
  grpc_ssl_client_certificate_request_type request_type() const { return type_; }

 private:
  grpc_ssl_client_certificate_request_type type_ = GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
};

}  // namespace grpc::experimental
