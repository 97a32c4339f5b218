#include "coracle/rpc/access_log.hpp"

#include "base/printable.hpp"
#include "coracle/coro/executor.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace coracle {

namespace {

// A method that no service has is whatever the client calls it.
std::string word_of(std::string_view method) {
  std::string word = base::printable(method);
  std::replace(word.begin(), word.end(), ' ', '?');
  return word;
}

std::string line_of(const server_context& c, const status& how, duration took) {
  const call_traffic& t = c.traffic();
  std::string line = "call=";
  line.append(word_of(c.method())).append(" peer=").append(c.peer().to_string());
  line.append(" status=").append(name_of(how.code()));
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
  const status how = co_await next();
  if (to_.wants(log_level::info))
    to_.write(log_level::info, line_of(context, how, coro::this_executor().now() - began));
  co_return how;
}

}  // namespace coracle
