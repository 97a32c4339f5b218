#include "coracle/server/access_log.hpp"

#include "base/printable.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <string>

namespace coracle {

namespace {

std::string line_of(const server_context& c, const status& outcome, duration took) {
  const call_traffic& t = c.traffic();
  std::string line = "call=";
  // A path is printable, or its request is malformed; printable() limits its length.
  line.append(base::printable(c.method())).append(" peer=").append(c.peer().to_string());
  line.append(" status=").append(name_of(outcome.code()));
  line.append(" duration_us=")
      .append(std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  line.append(" received=").append(std::to_string(t.messages_received));
  line.append(" received_bytes=").append(std::to_string(t.bytes_received));
  line.append(" sent=").append(std::to_string(t.messages_sent));
  line.append(" sent_bytes=").append(std::to_string(t.bytes_sent));
  return line;
}

}  // namespace

task<status> access_log::intercept(server_context& context, next_handler next) {
  const time_point began = coro::this_executor().now();
  const status outcome = co_await next();
  if (to_.is_enabled(log_level::info))
    to_.write(log_level::info, line_of(context, outcome, coro::this_executor().now() - began));
  co_return outcome;
}

}  // namespace coracle
