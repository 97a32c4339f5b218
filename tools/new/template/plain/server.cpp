// project_name_server [ADDRESS]: serves until SIGINT or SIGTERM, by default at 127.0.0.1:50051.
#include "greeter.hpp"

#include <coracle/server.hpp>

#include <cstdio>
#include <exception>
#include <string>

int main(int argc, char** argv) {
  try {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
    project_name::greeter service;
    coracle::server server;
    server.add(service);
    coracle::with_defaults(server);  // health and reflection: `coracle call` and grpcurl need no .proto
    const auto bound = server.listen(address, coracle::insecure());  // plaintext must be requested explicitly
    if (!bound.ok()) throw coracle::status_error(bound);
    // With port 0 the kernel chooses the port.
    const std::string host = address.substr(0, address.rfind(':'));
    std::printf("listening on %s:%u\n", host.c_str(), unsigned{server.port()});
    std::fflush(stdout);
    return server.run();  // calls in flight are finished
  } catch (const std::exception& error) {
    std::fprintf(stderr, "project_name_server: %s\n", error.what());
    return 1;
  }
}
