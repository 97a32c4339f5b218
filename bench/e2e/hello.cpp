// bench_hello PORT: the smallest server of one method in plaintext, as a user would begin; for its memory and
// size.
#include "helloworld.coracle.hpp"

#include <coracle/server.hpp>

#include <cstdio>
#include <string>

namespace {

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: bench_hello PORT\n", stderr);
    return 2;
  }
  greeter greets;
  coracle::server server;
  server.add(greets);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
