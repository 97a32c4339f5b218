// access_log: a line for each call of a server.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/server/server_interceptor.hpp"

namespace coracle {

// server.add_interceptor(std::make_shared<coracle::access_log>(server.owner().log()));
//
// As the first interceptor it logs what clients see. One line at level info, key=value, when the call is over:
//
//   call=/movie.MovieService/AddMovie peer=127.0.0.1:40112 status=OK duration_us=812 received=1 received_bytes=31
//   sent=1 sent_bytes=4
//
// (as one line). Of what a client may choose freely, the path of a method that no service has, bytes that are not
// printable and blanks are shown as `?`, and 200 bytes at most. Durations count from the request's head, in turns of the
// loop: a handler that does not wait took 0. Costs a formatted line a call where the logger wants info.
class access_log final : public server_interceptor {
 public:
  // `to` must outlive the server.
  explicit access_log(logger& to) noexcept : to_(to) {}
  task<status> intercept(server_context& context, next_handler next) override;

 private:
  logger& to_;
};

}  // namespace coracle
