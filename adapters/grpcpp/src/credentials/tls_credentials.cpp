// TlsCredentials() and TlsServerCredentials().
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include "adapters/grpcpp/src/credentials/auth_context.hpp"
#include "adapters/grpcpp/src/credentials/credentials_core.hpp"
#include "adapters/grpcpp/src/values/statuses.hpp"

#include "coracle/tls/server_options.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace grpc::experimental {

namespace {

using coracle::tls::pem_source;

pem_source source_of(const CertificateProviderInterface::sources& from, const std::string& text) {
  return from.files ? pem_source::file(text) : pem_source::text(text);
}

coracle::status verdict_on(const coracle::tls::peer_certificate& certificate,
                           ExternalCertificateVerifier& by) {
  using kind = coracle::peer_identity::kind;
  TlsCustomVerificationCheckRequest request;
  request.text.target = certificate.host();
  request.text.certificate = certificate.pem();
  for (const coracle::peer_identity& i : certificate.identities()) {
    switch (i.type()) {
      case kind::common_name: request.text.common_name = i.value(); break;
      case kind::dns_name: request.text.dns.push_back(i.value()); break;
      case kind::ip_address: request.text.ips.push_back(i.value()); break;
      case kind::email: request.text.emails.push_back(i.value()); break;
      default: request.text.uris.push_back(i.value()); break;
    }
  }
  Status said;
  if (by.Verify(&request, [](const Status&) {}, &said)) return internal::status_of(said);
  by.Cancel(&request);
  return coracle::status::unimplemented("verifiers must decide at once: return true from Verify()");
}

coracle::tls::peer_verifier verifier_of(const TlsCredentialsOptions& options) {
  if (!options.verifier() || !options.verifier()->by()) return {};
  return
      [by = options.verifier()->by()](const coracle::tls::peer_certificate& c) { return verdict_on(c, *by); };
}

coracle::tls::revocation_options revocation_of(const TlsCredentialsOptions& options) {
  coracle::tls::revocation_options to;
  if (!options.crls()) return to;
  const CrlProvider::sources& from = options.crls()->from();
  to.pem = from.texts;
  to.directory = from.directory;
  constexpr std::chrono::seconds longest = std::chrono::hours(24 * 365 * 100);
  if (!from.directory.empty()) to.interval = std::min(from.interval, longest);
  to.deny_undetermined = from.deny_undetermined;
  if (from.on_error)
    to.on_error = [tell = from.on_error](const coracle::status& s) {
      tell(internal::provider_status(std::string(s.message())));
    };
  return to;
}

}  // namespace

std::shared_ptr<ChannelCredentials> TlsCredentials(const TlsChannelCredentialsOptions& options) {
  auto core = std::make_shared<internal::channel_credentials_core>();
  coracle::tls::client_options& tls = core->tls.emplace();
  tls.accept_common_name = true;
  if (const auto* const p = options.roots(); p && !p->from().roots.empty())
    tls.cas = {source_of(p->from(), p->from().roots)};
  if (const auto* const p = options.identities(); p && !p->from().identities.empty()) {
    const IdentityKeyCertPair& own = p->from().identities.front();
    tls.certificate.emplace(source_of(p->from(), own.certificate_chain),
                            source_of(p->from(), own.private_key));
  }
  tls.verify = options.verifies();
  tls.verify_authority = options.checks_call_host();
  if (tls.verify) tls.revocation = revocation_of(options);
  tls.verifier = verifier_of(options);
  return std::make_shared<ChannelCredentials>(std::move(core));
}

std::shared_ptr<ServerCredentials> TlsServerCredentials(const TlsServerCredentialsOptions& options) {
  coracle::tls::server_options tls;
  if (const auto* const p = options.identities()) {
    for (const IdentityKeyCertPair& own : p->from().identities)
      tls.certificates.emplace_back(source_of(p->from(), own.certificate_chain),
                                    source_of(p->from(), own.private_key));
  }
  if (const auto* const p = options.roots(); p && !p->from().roots.empty())
    tls.client_cas = {source_of(p->from(), p->from().roots)};
  tls.clients = internal::client_certificates_of(options.request_type());
  if (tls.clients != coracle::tls::client_certificates::ignored) tls.revocation = revocation_of(options);
  tls.verifier = verifier_of(options);
  return std::make_shared<ServerCredentials>(std::make_shared<internal::server_credentials_core>(tls));
}

}  // namespace grpc::experimental
