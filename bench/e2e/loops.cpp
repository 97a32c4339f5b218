// bench_loops PORT LOOPS: helloworld.Greeter on the given number of loops, otherwise as bench_greeter in
// plaintext. It prints the port that it listens on: PORT may be 0.
#include "helloworld.coracle.hpp"

#include <coracle/server.hpp>

#include <cstdio>
#include <cstdlib>
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
  const int loops = argc == 3 ? std::atoi(argv[2]) : 0;
  if (loops < 1) {
    std::fputs("usage: bench_loops PORT LOOPS\n", stderr);
    return 2;
  }
  greeter greets;
  coracle::runtime runtime(static_cast<std::size_t>(loops));
  coracle::server server(runtime);
  server.add(greets);
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], coracle::insecure()).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}
