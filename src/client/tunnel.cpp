#include "client/tunnel.hpp"

#include "base/printable.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::client {

namespace {

std::string question(const tunnel& t) {
  std::string head = "CONNECT " + t.to;
  head.append(" HTTP/1.1\r\nHost: ").append(t.to).append("\r\n");
  if (!t.authorization.empty()) head.append("Proxy-Authorization: ").append(t.authorization).append("\r\n");
  return head.append("\r\n");
}

// Returns the minimum number of bytes that are missing at the end of the response headers: reading only this
// many never reads too far.
std::size_t missing(std::string_view answer) noexcept {
  constexpr std::string_view end = "\r\n\r\n";
  for (std::size_t n = end.size(); n > 0; --n)
    if (answer.ends_with(end.substr(0, n))) return end.size() - n;
  return end.size();
}

status refused(const tunnel& t, std::string_view answer) {
  std::string text = "the proxy refused a tunnel to " + t.to;
  text.append(": ");
  return status::unavailable(text.append(base::printable(answer.substr(0, answer.find('\r')))));
}

// Expects "HTTP/1.1 200 ...".
bool accepted(std::string_view answer) noexcept {
  return answer.starts_with("HTTP/1.") && answer.size() > 12 && answer[8] == ' ' && answer[9] == '2';
}

}  // namespace

task<status> open_tunnel(loop& on, runtime_internal::handle to_proxy, const tunnel& t) {
  const std::string head = question(t);
  const runtime_internal::operation::piece piece{reinterpret_cast<const std::uint8_t*>(head.data()),
                                                 head.size()};
  net::io_wait sending(on, runtime_internal::operation::kind::send, to_proxy);
  sending.pieces = &piece;
  sending.piece_count = 1;
  std::int64_t moved = co_await sending;
  if (moved < 0) co_return net::stream_error(moved, "sending CONNECT to the proxy");

  std::string answer;
  std::array<std::uint8_t, 4> bytes;
  net::io_wait receiving(on, runtime_internal::operation::kind::receive, to_proxy);
  while (const std::size_t n = missing(answer)) {
    receiving.into = mutable_bytes(bytes.data(), n);
    moved = co_await receiving;
    if (moved < 0) co_return net::stream_error(moved, "reading the proxy's response");
    answer.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(moved));
    if (moved == 0 || answer.size() > tunnel_answer_bytes_max) co_return refused(t, answer);
  }
  if (!accepted(answer)) co_return refused(t, answer);
  co_return status();
}

}  // namespace coracle::client
