// A server with everything that the library offers, and a client that checks its health.
#include "coracle/server.hpp"
#include "coracle/client.hpp"
#include "coracle/client/generic_stub.hpp"

#include <string>

int main() {
  coracle::server server;
  coracle::with_defaults(server);
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return 1;
  server.start();
  coracle::channel channel("127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  const auto reply = coracle::sync_wait(
      coracle::generic_stub(channel).unary("/grpc.health.v1.Health/Check", coracle::bytes_message()));
  return reply && reply->bytes() == "\x08\x01" ? 0 : 1;  // SERVING
}
