// bench_greeter PORT [CERT KEY]: the server that the load generators drive; one loop, the library's defaults, TLS with
// the certificate and key of two PEM files. It prints the port that it listens on: PORT may be 0.
#include "helloworld.coracle.hpp"
#include "idle.coracle.hpp"

#include <coracle/server.hpp>
#include <coracle/tls/server_options.hpp>

#include <cstdio>
#include <string>

namespace {

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::rpc<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                const helloworld::HelloRequest& request) override {
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

class idle_streams final : public idle::rpc::Idle::service {
  coracle::stream<idle::Msg> Hold(coracle::server_context&, coracle::reader<idle::Msg> messages) override {
    while (const auto message = co_await messages.next()) co_yield *message;
    co_return coracle::status();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fputs("usage: bench_greeter PORT [CERT KEY]\n", stderr);
    return 2;
  }
  coracle::transport::server_credentials credentials = coracle::insecure();
  if (argc == 4) credentials = coracle::tls::server_options().certificate_files(argv[2], argv[3]);
  greeter greets;
  idle_streams holds;
  coracle::server server;
  server.add(greets);
  server.add(holds);
  // run() says what is wrong with it.
  if (server.listen(std::string("127.0.0.1:") + argv[1], credentials).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
