// A program's own decision on the certificate of a peer.
#pragma once

#include <grpc/grpc_security_constants.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc::experimental {

/// The certificate of the peer. Valid as long as Verify() runs.
class TlsCustomVerificationCheckRequest {
 public:
  /// On a client, the name that the server has to prove.
  string_ref target_name() const { return text.target; }
  /// PEM. The full chain is not known, and empty.
  string_ref peer_cert() const { return text.certificate; }
  string_ref peer_cert_full_chain() const { return {}; }
  string_ref common_name() const { return text.common_name; }
  std::vector<string_ref> uri_names() const { return refs(text.uris); }
  std::vector<string_ref> dns_names() const { return refs(text.dns); }
  std::vector<string_ref> email_names() const { return refs(text.emails); }
  std::vector<string_ref> ip_names() const { return refs(text.ips); }

  // For the library.
  struct texts {
    std::string target;
    std::string certificate;
    std::string common_name;
    std::vector<std::string> uris;
    std::vector<std::string> dns;
    std::vector<std::string> emails;
    std::vector<std::string> ips;
  } text;

 private:
  static std::vector<string_ref> refs(const std::vector<std::string>& all) { return {all.begin(), all.end()}; }
};

/// Runs on the loop of the connection, and several at once: it must not block. It must decide at once: one that
/// returns false, to decide later, rejects the peer.
class ExternalCertificateVerifier;

/// Made by the functions and classes below.
class CertificateVerifier {
 public:
  explicit CertificateVerifier(std::shared_ptr<ExternalCertificateVerifier> by, bool checks_name = false)
      : by_(std::move(by)), checks_name_(checks_name) {}
  virtual ~CertificateVerifier() = default;

  // For the library: null if the class decides nothing itself.
  const std::shared_ptr<ExternalCertificateVerifier>& by() const { return by_; }
  bool checks_name() const { return checks_name_; }

 private:
  std::shared_ptr<ExternalCertificateVerifier> by_;
  bool checks_name_;
};

class ExternalCertificateVerifier {
 public:
  template <typename Subclass, typename... Args>
  static std::shared_ptr<CertificateVerifier> Create(Args&&... args) {
    return std::make_shared<CertificateVerifier>(std::make_shared<Subclass>(std::forward<Args>(args)...));
  }
  virtual ~ExternalCertificateVerifier() = default;
  /// Sets *sync_status to OK, or to why the peer is rejected, and returns true.
  virtual bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(Status)> callback,
                      Status* sync_status) = 0;
  virtual void Cancel(TlsCustomVerificationCheckRequest* request) = 0;

 protected:
  ExternalCertificateVerifier() = default;
};

/// Accepts every name; the certificate must be issued by a trusted CA all the same.
class NoOpCertificateVerifier : public CertificateVerifier {
 public:
  NoOpCertificateVerifier() : CertificateVerifier(nullptr) {}
};

/// The certificate of a server must be for the target's name. The default of clients.
class HostNameCertificateVerifier : public CertificateVerifier {
 public:
  HostNameCertificateVerifier() : CertificateVerifier(nullptr, true) {}
};

}  // namespace grpc::experimental
