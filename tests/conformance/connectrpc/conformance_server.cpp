// conformance_server: the server that connectrpc's conformance suite starts, once for each way to connect.
#include "conformance_service.hpp"
#include "connectrpc/conformance/v1/server_compat.pb.h"
#include "framed_message.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/server.hpp>

#include <stdexcept>

namespace {

namespace pb = connectrpc::conformance::v1;

coracle::server_options options_for(const pb::ServerCompatRequest& wanted) {
  coracle::server_options options;
  options.codec(coracle::json_codec());
  if (wanted.message_receive_limit() > 0) options.max_receive_bytes(wanted.message_receive_limit());
  return options;
}

}  // namespace

int main() {
  return examples::run("conformance_server", [] {
    pb::ServerCompatRequest wanted;
    if (!conformance::read_framed(stdin, wanted)) throw std::runtime_error("say on stdin how to serve");
    if (wanted.use_tls()) throw std::runtime_error("TLS is not supported yet");
    conformance::conformance_service service;
    coracle::server server(options_for(wanted));
    server.add(service);
    if (const auto bound = server.listen("127.0.0.1:0", coracle::insecure()); !bound.ok())
      throw coracle::status_error(bound);
    pb::ServerCompatResponse answer;
    answer.set_host("127.0.0.1");
    answer.set_port(server.port());
    conformance::write_framed(stdout, answer);
    return server.run();
  });
}
