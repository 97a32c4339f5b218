// movie_server: the movie service over a SQLite store.
#include "../command_line.hpp"
#include "credentials.hpp"
#include "movie_store.hpp"
#include "movies.hpp"

#include <coracle/rpc/message_codec.hpp>
#include <coracle/server.hpp>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  return examples::run("movie_server", [&] {
    const examples::command_line line(argc, argv,
                                      "--port=PORT [--db=FILE] [--cert=FILE --key=FILE [--client-ca=FILE]]");
    const auto port = line.port("port");
    movie_store store(line.option("db").value_or(":memory:"));
    movies service(store);
    coracle::server_options options;
    options.codecs = {&coracle::json_codec()};  // curl may send JSON
    coracle::server server(options);
    server.add(service);
    coracle::with_defaults(server);  // health, reflection, channelz: grpcurl needs no .proto
    const auto address = "127.0.0.1:" + std::to_string(port);
    server.listen(address, examples::server_credentials_of(line)).throw_if_error();
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();  // until SIGINT or SIGTERM; calls in flight are finished
  });
}
