// greeter_server: the smallest server.
#include "../command_line.hpp"
#include "greeter.coracle.hpp"

#include <coracle/server.hpp>

#include <cstdio>

namespace {

// [service]
class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    if (request.name().empty()) return coracle::status::invalid_argument("say whom to greet");
    helloworld::HelloReply reply;
    reply.set_message("Hello, " + request.name());
    return reply;  // a handler that does not wait for anything need not be a coroutine
  }
};
// [/service]

}  // namespace

int main(int argc, char** argv) {
  return examples::run("greeter_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT");
    greeter service;
    coracle::server server;
    server.add(service);
    // Plaintext is always said aloud.
    const auto address = "127.0.0.1:" + std::to_string(line.port("port"));
    if (const auto bound = server.listen(address, coracle::insecure()); !bound.ok())
      throw coracle::status_error(bound);
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();  // until SIGINT or SIGTERM
  });
}
