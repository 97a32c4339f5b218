// proxy: a server that passes every call on to another one.
#include "../command_line.hpp"
#include "relay.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  return examples::run("proxy", [&] {
    const examples::command_line line(argc, argv, "--port=PORT --to=ADDRESS");
    coracle::runtime runtime;
    coracle::channel next(runtime, line.required("to"), coracle::insecure());
    examples::relay relay(next);
    coracle::server server(runtime);
    server.set_fallback(relay);
    server.listen("127.0.0.1:" + std::to_string(line.port("port")), coracle::insecure()).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
