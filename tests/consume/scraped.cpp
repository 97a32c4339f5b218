// A user's server with metrics, which prints its port and serves until its input ends.
#include "coracle/server.hpp"
#include "coracle/telemetry/with_metrics.hpp"

#include <cstdio>

int main() {
  coracle::runtime runtime;
  coracle::server server(runtime);
  coracle::with_metrics(server);
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
  server.start();
  std::printf("%d\n", static_cast<int>(server.port()));
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
}
