// bench_loops PORT LOOPS: helloworld.Greeter on the given number of loops, otherwise as bench_greeter in
// plaintext. It prints the port that it listens on: PORT may be 0.

#include <coracle/server.hpp>
#include "e2e/copying_greeter.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const int loops = argc == 3 ? std::atoi(argv[2]) : 0;
  if (loops < 1) {
    std::fputs("usage: bench_loops PORT LOOPS\n", stderr);
    return 2;
  }
  bench::copying_greeter greets;
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
