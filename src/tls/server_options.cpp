// server_options: builds a server_security from the options.
#include "coracle/tls/server_options.hpp"
#include "tls/context.hpp"
#include "tls/reloading.hpp"
#include "tls/secured_duplex.hpp"

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
      : handshake_timeout_(o.handshake_timeout),
        verifier_(o.verifier),
        contexts_([o] { return server_context::make(o); }, files_of(o)) {}

  std::unique_ptr<net::duplex> secure(loop& on, std::unique_ptr<net::duplex> raw) override {
    std::shared_ptr<const server_context> context = contexts_.get(on);
    openssl_ptr<SSL> connection = context->connection();
    auto made = std::make_unique<secured_duplex>(on, std::move(raw), std::move(context),
                                                 std::move(connection), true, handshake_timeout_);
    made->tls().verify_by(verifier_);
    return made;
  }
  status reload() override { return contexts_.reload(); }
  security::certificates_in_use certificates(loop& on) override { return contexts_.certificates(on); }

 private:
  const duration handshake_timeout_;
  const peer_verifier verifier_;
  reloading<server_context> contexts_;
};

}  // namespace

result<std::shared_ptr<security::server_security>> server_options::build() const {
  std::shared_ptr<security::server_security> made = std::make_shared<secured_server>(*this);
  if (status s = made->reload(); !s.ok()) return s;
  return made;
}

}  // namespace coracle::tls
