// access_log: an interceptor that logs one line for each call of a server.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/server/server_interceptor.hpp"

namespace coracle {

/// Logs one line for each call of a server, and for each request of a plain route.
///
///   server.add_interceptor(std::make_shared<coracle::access_log>(server.owner().log()));
///
/// Add it as the first interceptor, so that it logs what clients see. It writes one line at level info, as
/// key=value pairs, when the call has ended (here broken into two lines):
///
///   call=/movie.MovieService/AddMovie peer=127.0.0.1:40112 status=OK duration_us=812
///   received=1 received_bytes=31 sent=1 sent_bytes=4
///
/// A request of a plain route (server::add_http(), static files) has a line, too. `path` has no query, which
/// may contain secrets. `status` is 0 if the client went away before the response, and ` cut=yes` follows if
/// the response is not complete:
///
///   http=GET path=/files/index.html peer=127.0.0.1:40112 status=200 duration_us=112
///   received_bytes=0 sent_bytes=5120
///
/// A client can choose the path of an unregistered method freely, and many of a route. The log therefore
/// shows its unprintable bytes and blanks as `?`, and at most 200 bytes of it. The duration starts when the
/// request headers have arrived and has the resolution of one loop iteration: a handler that does not wait
/// takes 0. The cost is one formatted line per call if the logger accepts level info.
class access_log final : public server_interceptor {
 public:
  /// Logs to `to`, which must outlive the server.
  explicit access_log(logger& to) noexcept : to_(to) {}
  task<status> intercept(server_context& context, next_handler next) override;
  void on_http_end(const finished_http_request& request) noexcept override;

 private:
  logger& to_;
};

}  // namespace coracle
