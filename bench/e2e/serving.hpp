// serving: the common start of the benchmark servers.
#pragma once

#include <coracle/server.hpp>
#include <coracle/tls/server_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace bench {

// PORT [CERT KEY]: serves on 127.0.0.1, on one loop, or as many as BENCH_LOOPS says, with the library's
// defaults, with TLS if the certificate and the key of two PEM files are given, and REST if `rest` is. Prints
// the port that it listens on: PORT may be 0. Returns the exit code of main().
inline int serve(const char* program, int argc, char** argv,
                 std::initializer_list<coracle::service*> services,
                 const coracle::server_options& options = {}, const coracle::rest_options* rest = nullptr) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: %s PORT [CERT KEY]\n", program);
    return 2;
  }
  coracle::server_credentials credentials = coracle::insecure();
  if (argc == 4) {
    coracle::tls::server_options tls;
    tls.certificates = {coracle::tls::key_pair::files(argv[2], argv[3])};
    credentials = tls;
  }
  const char* const loops = std::getenv("BENCH_LOOPS");
  coracle::runtime runtime(static_cast<std::size_t>(loops ? std::max(std::atoi(loops), 1) : 1));
  coracle::server server(runtime, options);
  for (coracle::service* one : services) server.add(*one);
  if (rest) server.add_rest(*rest).throw_if_error();
  // run() logs its errors.
  if (server.listen(std::string("127.0.0.1:") + argv[1], credentials).ok()) {
    std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
    std::fflush(stdout);
  }
  return server.run();
}

}  // namespace bench
