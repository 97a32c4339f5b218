#include "coracle/server/access_log.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <string>

namespace coracle {

namespace {

std::string microseconds_in(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
}

std::string line_of(const finished_http_request& r) {
  std::string line = "http=";
  line.append(r.method).append(" path=").append(base::printable(r.path));
  line.append(" peer=").append(r.peer.to_string());
  line.append(" status=").append(std::to_string(r.status));
  line.append(" duration_us=").append(microseconds_in(r.took));
  line.append(" received_bytes=").append(std::to_string(r.received_bytes));
  line.append(" sent_bytes=").append(std::to_string(r.sent_bytes));
  if (!r.complete) line.append(" cut=yes");
  return line;
}

std::string line_of(const server_context& c, const status& outcome, duration took) {
  const call_traffic& t = c.traffic();
  std::string line = "call=";
  // A path is printable, or its request is malformed; printable() limits its length.
  line.append(base::printable(c.method())).append(" peer=").append(c.peer().to_string());
  line.append(" status=").append(name_of(outcome.code()));
  line.append(" duration_us=").append(microseconds_in(took));
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

void access_log::on_http_end(const finished_http_request& request) noexcept {
  if (!to_.is_enabled(log_level::info)) return;
  base::if_memory_allows([&] { to_.write(log_level::info, line_of(request)); });
}

}  // namespace coracle
