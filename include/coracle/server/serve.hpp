// serve(): runs a whole server with one function call.
#pragma once

#include "coracle/security/credentials.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/server_options.hpp"
#include "coracle/server/service.hpp"

#include <concepts>
#include <string_view>

namespace coracle {

namespace server_internal {
// Implements serve(): listens, prints the address, and runs.
int serve(server& one, std::string_view address, const server_credentials& credentials);
}  // namespace server_internal

/// Serves `services` at `address` until SIGINT or SIGTERM, then drains; meant as the body of main().
///
///   int main() {
///     greeter service;
///     return coracle::serve("127.0.0.1:50051", coracle::insecure(), service);
///   }
///
/// Prints "listening on ADDRESS" on stdout; if `address` has port 0, the printed port is the one that the
/// system chose. Returns the exit code of the program: 0, or 1 after a line on stderr if it cannot listen on
/// the address. The services must outlive the call. The server has its own runtime with one loop; a program
/// that needs more makes a `server`.
///
/// `options` may be left out. With health checks and a time to leave it does what a rolling update needs:
///
///   coracle::server_options options;
///   options.leave_time = 10s;
///   coracle::health_service health;
///   return coracle::serve("*:50051", coracle::insecure(), options, movies, health);
///
/// For `address` see server::listen(). `credentials` are insecure() or coracle::tls::server_options().
template <class... Services>
  requires(std::convertible_to<Services&, service&> && ...)
[[nodiscard]] int serve(std::string_view address, const server_credentials& credentials,
                        const server_options& options, Services&... services) {
  static_assert(sizeof...(Services) > 0,
                "serve() requires a service: pass at least one object of a generated service class");
  server one(options);
  (one.add(services), ...);
  return server_internal::serve(one, address, credentials);
}

/// As above, with default options.
template <class... Services>
  requires(std::convertible_to<Services&, service&> && ...)
[[nodiscard]] int serve(std::string_view address, const server_credentials& credentials,
                        Services&... services) {
  return serve(address, credentials, server_options(), services...);
}

}  // namespace coracle
