// lifetime_server run|start LOOPS ADDRESS...: the echo service at all addresses, for the tests that start it.
// Continues after a line on stdin.
#include "support/echo_service.hpp"

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

int main(int count, char** words) {
  coracle::runtime loops(count > 2 ? static_cast<std::size_t>(std::atoi(words[2])) : 1);
  coracle::testing_support::echo_service service;
  coracle::server server(loops);
  server.add(service);
  bool listens = count > 3;
  for (int i = 3; i < count && listens; ++i) listens = server.listen(words[i], coracle::insecure()).ok();
  if (listens) {
    std::printf("listening on %u\n", unsigned{server.port()});
    std::fflush(stdout);
    std::string go_on;
    std::getline(std::cin, go_on);
  }
  if (count > 1 && std::string_view(words[1]) == "run") return server.run();
  server.start();
  for (;;) ::pause();
}
