// Credentials of the ports of servers.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc {

namespace internal {

class server_credentials_core;  // private: src/credentials/credentials_core.hpp

}  // namespace internal

/// PEM texts. With roots, clients may be asked for certificates.
struct SslServerCredentialsOptions {
  struct PemKeyCertPair {
    std::string private_key;
    std::string cert_chain;
  };
  SslServerCredentialsOptions() = default;
  explicit SslServerCredentialsOptions(grpc_ssl_client_certificate_request_type type)
      : client_certificate_request(type) {}

  std::string pem_root_certs;
  std::vector<PemKeyCertPair> pem_key_cert_pairs;
  /// Deprecated: a certificate is required and verified.
  bool force_client_auth = false;
  grpc_ssl_client_certificate_request_type client_certificate_request =
      GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
};

/// Made by the functions below.
class ServerCredentials {
 public:
  explicit ServerCredentials(std::shared_ptr<internal::server_credentials_core> core);
  virtual ~ServerCredentials();
  /// Authenticates the calls of the port by their metadata. For credentials with TLS; all ports of a server
  /// have the same processor. Before the server is built.
  virtual void SetAuthMetadataProcessor(const std::shared_ptr<AuthMetadataProcessor>& processor);
  const internal::server_credentials_core& core() const { return *core_; }

 private:
  std::shared_ptr<internal::server_credentials_core> core_;
};

std::shared_ptr<ServerCredentials> InsecureServerCredentials();
std::shared_ptr<ServerCredentials> SslServerCredentials(const SslServerCredentialsOptions& options);
/// For the ports of an XdsServerBuilder: the control plane says how connections are secured. Where it says
/// nothing, and for other builders, `fallback` is used, with its AuthMetadataProcessor. Null if `fallback` is.
/// Link coracle::grpcpp_xds.
std::shared_ptr<ServerCredentials> XdsServerCredentials(const std::shared_ptr<ServerCredentials>& fallback);

namespace experimental {

using grpc::XdsServerCredentials;  // the older name

std::shared_ptr<ServerCredentials> TlsServerCredentials(const TlsServerCredentialsOptions& options);

struct AltsServerCredentialsOptions {};
std::shared_ptr<ServerCredentials> AltsServerCredentials(const AltsServerCredentialsOptions& options)
    CORACLE_GRPCPP_MISSING("there is no ALTS: SslServerCredentials()");
std::shared_ptr<ServerCredentials> LocalServerCredentials(grpc_local_connect_type type)
    CORACLE_GRPCPP_MISSING("peers are not limited to this host: InsecureServerCredentials(), on a local address");

}  // namespace experimental

}  // namespace grpc
