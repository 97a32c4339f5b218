// server_options: builds a server_security from the options.
#include "coracle/tls/server_options.hpp"
#include "tls/context.hpp"
#include "tls/secured_duplex.hpp"
#include "tls/security_files.hpp"

#include <utility>

namespace coracle::tls {

namespace {

std::vector<std::string> files_of(const server_options& o) {
  std::vector<std::string> files;
  const auto note = [&](const pem_source& s) {
    if (s.is_file()) files.push_back(s.value());
  };
  for (const key_pair& pair : o.certificates) {
    note(pair.chain());
    note(pair.key());
  }
  for (const pem_source& ca : o.client_cas) note(ca);
  if (!o.spiffe_bundle_map.empty()) files.push_back(o.spiffe_bundle_map);
  return files;
}

class secured_server final : public security::server_security {
 public:
  explicit secured_server(const server_options& o)
      : handshake_timeout_(o.handshake_timeout), verifier_(o.verifier), files_(o, files_of(o)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) override {
    std::shared_ptr<const server_context> context = files_.context(on);
    openssl_ptr<SSL> connection = context->connection();
    auto made = std::make_unique<secured_duplex>(on, std::move(raw), std::move(context),
                                                 std::move(connection), true, handshake_timeout_);
    made->tls().verify_by(verifier_);
    if (auto lists = files_.revoked(on)) made->tls().check_revocation(std::move(lists));
    return made;
  }
  status load() { return files_.load(); }
  status reload() override { return files_.reload(); }
  security::certificates_in_use certificates(loop& on) override { return files_.certificates(on); }

 private:
  const duration handshake_timeout_;
  const peer_verifier verifier_;
  security_files<server_context, server_options> files_;
};

}  // namespace

result<std::shared_ptr<security::server_security>> server_options::build() const {
  auto made = std::make_shared<secured_server>(*this);
  if (status s = made->load(); !s.ok()) return s;
  return std::shared_ptr<security::server_security>(std::move(made));
}

}  // namespace coracle::tls
