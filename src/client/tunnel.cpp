#include "client/tunnel.hpp"

#include "base/printable.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "http1/response_head.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::client {

namespace {

std::string connect_request(const tunnel& t) {
  std::string request = "CONNECT " + t.to;
  request.append(" HTTP/1.1\r\nHost: ").append(t.to).append("\r\n");
  if (!t.authorization.empty())
    request.append("Proxy-Authorization: ").append(t.authorization).append("\r\n");
  return request.append("\r\n");
}

status refused(const tunnel& t, std::string_view answer) {
  std::string text = "the proxy refused a tunnel to " + t.to;
  text.append(": ");
  return status::unavailable(text.append(base::printable(answer.substr(0, answer.find('\r')))));
}

// RFC 9110 9.3.6: any 2xx response opens the tunnel.
bool accepted(std::string_view answer) noexcept {
  const auto line = http1::read_response_line(answer);
  return line && line->code / 100 == 2;
}

}  // namespace

task<status> open_tunnel(loop& on, runtime_internal::handle to_proxy, const tunnel& t) {
  const std::string request = connect_request(t);
  const runtime_internal::operation::piece piece{reinterpret_cast<const std::uint8_t*>(request.data()),
                                                 request.size()};
  net::io_wait sending(on, runtime_internal::operation::kind::send, to_proxy);
  sending.pieces = &piece;
  sending.piece_count = 1;
  std::int64_t moved = co_await sending;
  if (moved < 0) co_return net::stream_error(moved, "sending CONNECT to the proxy");

  std::string answer;
  std::array<std::uint8_t, 4> bytes;
  net::io_wait receiving(on, runtime_internal::operation::kind::receive, to_proxy);
  while (const std::size_t n = http1::missing_bytes(answer)) {
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
