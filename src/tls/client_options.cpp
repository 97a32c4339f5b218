// client_options: builds a client_security from the options.
#include "coracle/tls/client_options.hpp"
#include "tls/context.hpp"
#include "tls/secured_duplex.hpp"
#include "tls/security_files.hpp"

#include <utility>

namespace coracle::tls {

namespace {

std::vector<std::string> files_of(const client_options& o) {
  std::vector<std::string> files;
  const auto note = [&](const pem_source& s) {
    if (s.is_file()) files.push_back(s.value());
  };
  for (const pem_source& ca : o.cas) note(ca);
  if (!o.spiffe_bundle_map.empty()) files.push_back(o.spiffe_bundle_map);
  if (o.certificate) {
    note(o.certificate->chain());
    note(o.certificate->key());
  }
  return files;
}

class secured_client final : public security::client_security {
 public:
  explicit secured_client(const client_options& o)
      : target_name_(o.target_name),
        names_{o.verify_name, o.accept_common_name, o.verify_authority},
        handshake_timeout_(o.handshake_timeout),
        verifier_(o.verifier),
        files_(o, files_of(o)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw, std::string_view host,
                                      std::string_view application_protocol) override {
    std::shared_ptr<const client_context> context = files_.context(on);
    openssl_ptr<SSL> connection = context->connection(application_protocol);
    session_cache& sessions = context->sessions();
    auto made = std::make_unique<secured_duplex>(on, std::move(raw), std::move(context),
                                                 std::move(connection), false, handshake_timeout_);
    made->require_protocol(application_protocol);
    made->tls().verify_by(verifier_);
    if (auto lists = files_.revoked(on)) made->tls().check_revocation(std::move(lists));
    made->tls().expect_server(target_name_.empty() ? host : std::string_view(target_name_), sessions, names_);
    return made;
  }
  status load() { return files_.load(); }
  status reload() override { return files_.reload(); }
  security::certificates_in_use certificates(loop& on) override { return files_.certificates(on); }
  [[nodiscard]] std::string_view name_override() const noexcept override { return target_name_; }

 private:
  const std::string target_name_;
  const engine::name_rules names_;
  const duration handshake_timeout_;
  const peer_verifier verifier_;
  security_files<client_context, client_options> files_;
};

}  // namespace

result<std::shared_ptr<security::client_security>> client_options::build() const {
  auto made = std::make_shared<secured_client>(*this);
  if (status s = made->load(); !s.ok()) return s;
  return std::shared_ptr<security::client_security>(std::move(made));
}

}  // namespace coracle::tls
