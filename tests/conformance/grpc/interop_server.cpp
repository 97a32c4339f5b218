// interop_server: grpc.testing.TestService as in gRPC's interop description, for the interop clients of other
// implementations.
#include "load_reports.hpp"
#include "test_service.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/server.hpp>
#include <coracle/tls/server_options.hpp>

#include <cstdio>
#include <string>

namespace {

coracle::server_credentials credentials_of(const examples::command_line& line) {
  if (line.option("use_tls").value_or("false") == "false") return coracle::insecure();
  const auto certificate = line.option("tls_cert_file"), key = line.option("tls_key_file");
  if (!certificate || !key) throw examples::usage_error("--use_tls needs --tls_cert_file and --tls_key_file");
  coracle::tls::server_options credentials;
  credentials.certificates.push_back(coracle::tls::key_pair::files(*certificate, *key));
  return credentials;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("interop_server", [&] {
    const examples::command_line line(
        argc, argv, "--port=PORT [--use_tls=true --tls_cert_file=FILE --tls_key_file=FILE]");
    const auto port = line.port("port");
    interop::load_reports loads;
    interop::test_service service(loads);
    // The description has a request of 10 MB.
    coracle::server_options options;
    options.max_receive_bytes = 64u << 20;
    coracle::server server(options);
    server.add(service);
    server.add(loads.service());
    const auto address = "127.0.0.1:" + std::to_string(port);
    if (const auto bound = server.listen(address, credentials_of(line)); !bound.ok())
      throw coracle::status_error(bound);
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
