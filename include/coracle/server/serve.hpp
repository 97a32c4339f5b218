// serve(): a whole server in one line.
#pragma once

#include "coracle/security/credentials.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/service.hpp"

#include <concepts>
#include <string_view>

namespace coracle {

namespace server_internal {
// Listens, prints where, and runs: see serve().
int serve(server& one, std::string_view address, const server_credentials& credentials);
}  // namespace server_internal

/// Serves `services` at `address` until SIGINT or SIGTERM, then drains: the body of a main(). Prints "listening on ADDRESS" on
/// stdout, with the port that the system has chosen where `address` has port 0. Returns the program's exit code: 0, or 1 after
/// a line on stderr when the address cannot be listened on. The services must outlive the call. On a runtime of its own
/// with one loop, with default options; a program that needs more makes a `server`.
///
///   int main() {
///     greeter service;
///     return coracle::serve("127.0.0.1:50051", coracle::insecure(), service);
///   }
///
/// address: see server::listen(). credentials: insecure(), or coracle::tls::server_options().
template <std::derived_from<service>... Services>
[[nodiscard]] int serve(std::string_view address, const server_credentials& credentials,
                        Services&... services) {
  static_assert(sizeof...(Services) > 0,
                "serve() needs a service: pass at least one object of a generated service class");
  server one;
  (one.add(services), ...);
  return server_internal::serve(one, address, credentials);
}

}  // namespace coracle
