// access_log: an interceptor that logs one line for each call of a server.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle {

/// A field of the lines of access_log. Fields that a call or a request of a plain route does not have are
/// left out.
enum class access_field : unsigned char {
  method,  ///< `call`: the path of the method. Plain route: `http`, the method, and `path`
  peer,  ///< the address of the client
  status,  ///< the name of the status code. Plain route: the HTTP status, and `cut=yes` if incomplete
  took,  ///< `duration_us`, in microseconds
  received,  ///< the number of messages of the client; calls only
  received_bytes,  ///< their size on the wire, or that of the body of the request
  sent,  ///< the number of messages of the server; calls only
  sent_bytes,  ///< their size on the wire, or that of the body of the response
  authority,  ///< the host that the client called; calls only
  user_agent,  ///< the header `user-agent`
  identity,  ///< the first identity in the client's certificate; calls only
  status_message,  ///< the message of a status that is not OK; calls only
};

/// What access_log writes.
class access_log_options {
 public:
  /// The maximum number of metadata keys.
  static constexpr std::size_t metadata_max = 16;

  /// All defaults.
  access_log_options() noexcept(false) {}
  /// The fields of a line, in this order.
  std::vector<access_field> fields{
      access_field::method,   access_field::peer,           access_field::status, access_field::took,
      access_field::received, access_field::received_bytes, access_field::sent,   access_field::sent_bytes};
  /// Keys of request metadata and headers whose first values are fields of the same name, after `fields`. At
  /// most metadata_max; not those that carry credentials (authorization, proxy-authorization, cookie).
  std::vector<std::string> metadata;
  /// Logs one of so many calls that succeed in less than `slow`, and all others. Default: 1, all calls.
  std::uint32_t sample_one_of = 1;
  /// Calls that take at least this time are logged in any case. Default: never.
  duration slow = duration::max();
};

/// Logs one line for each call of a server, and for each request of a plain route.
///
///   server.add_interceptor(std::make_shared<coracle::access_log>(server.owner().log()));
///
/// Add it as the first interceptor, so that it logs what clients see. It writes one line at level info in
/// log_room::access when the call has ended. A line has no text, only fields, and the ids of the call's
/// trace. Loggers of text, as stderr_logger() is by default, get them as key=value pairs (here broken into
/// two lines):
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
/// A client can choose the path of an unregistered method freely, and many of a route, and metadata. The log
/// therefore shows their unprintable bytes and blanks as `?`, and at most 200 bytes of each. The duration
/// starts when the request headers have arrived and has the resolution of one loop iteration: a handler that
/// does not wait takes 0. The cost is one formatted line per call if the logger accepts level info.
///
/// With access_log_options::sample_one_of, it logs failures (each status but OK; HTTP statuses from 400 on,
/// 0, and incomplete responses), slow calls, and one of so many of the others.
class access_log final : public server_interceptor {
 public:
  /// Logs to `to`, which must outlive the server. Throws usage_error if sample_one_of is 0, or for metadata
  /// that the options do not permit.
  explicit access_log(logger& to, access_log_options options = {});
  task<status> intercept(server_context& context, next_handler next) override;
  void on_http_end(const finished_http_request& request) noexcept override;

 private:
  void write(const server_context& context, const status& outcome, duration took) const;
  [[nodiscard]] bool is_logged(bool succeeded, duration took) noexcept;

  logger& to_;
  const access_log_options options_;
  std::atomic<std::uint32_t> fast_and_ok_{0};  // calls that sampling decides about
};

}  // namespace coracle
