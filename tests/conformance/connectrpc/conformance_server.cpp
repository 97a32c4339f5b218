// conformance_server: the server that connectrpc's conformance suite starts, once for each kind of
// connection.
#include "conformance_service.hpp"
#include "connectrpc/conformance/v1/server_compat.pb.h"
#include "framed_message.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/server.hpp>
#include <coracle/tls/server_options.hpp>

#include <stdexcept>

namespace {

namespace pb = connectrpc::conformance::v1;

coracle::server_options options_for(const pb::ServerCompatRequest& wanted) {
  coracle::server_options options;
  options.codecs.push_back(&coracle::json_codec());
  options.compression = coracle::compression(coracle::encoding::gzip).min_bytes(0);
  if (wanted.message_receive_limit() > 0) options.max_receive_bytes = wanted.message_receive_limit();
  return options;
}

coracle::server_credentials credentials_for(const pb::ServerCompatRequest& wanted) {
  if (!wanted.use_tls()) return coracle::insecure();
  coracle::tls::server_options tls;
  tls.certificates.push_back(
      coracle::tls::key_pair::pem(wanted.server_creds().cert(), wanted.server_creds().key()));
  if (!wanted.client_tls_cert().empty())
    tls.client_cas.push_back(coracle::tls::pem_source::text(wanted.client_tls_cert()));
  return tls;
}

}  // namespace

int main() {
  return examples::run("conformance_server", [] {
    pb::ServerCompatRequest wanted;
    if (!conformance::read_framed(stdin, wanted)) throw std::runtime_error("say on stdin how to serve");
    conformance::conformance_service service;
    coracle::server server(options_for(wanted));
    server.add(service);
    if (const auto bound = server.listen("127.0.0.1:0", credentials_for(wanted)); !bound.ok())
      throw coracle::status_error(bound);
    pb::ServerCompatResponse answer;
    answer.set_host("127.0.0.1");
    answer.set_port(server.port());
    if (wanted.use_tls()) answer.set_pem_cert(wanted.server_creds().cert());
    conformance::write_framed(stdout, answer);
    return server.run();
  });
}
