#include "client/connecting/tunnel.hpp"

#include "base/printable.hpp"
#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/runtime/loop.hpp"
#include "http1/connection.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

namespace {

constexpr std::string_view head_end = "\r\n\r\n";

http1::limits limits_of_answer() noexcept {
  http1::limits l;
  l.line_bytes = l.header_bytes = tunnel_answer_bytes_max;
  return l;
}

status refused(const tunnel& t, std::string_view reason) {
  std::string text = "the proxy refused a tunnel to " + t.to;
  text.append(": ");
  return status::unavailable(text.append(base::printable(reason)));
}

// Returns the minimum number of bytes that are missing at the end of the headers, of which `answer` are the
// last bytes that arrived: who reads only this many never reads beyond the headers.
std::size_t missing_bytes(std::string_view answer) noexcept {
  for (std::size_t n = head_end.size() - 1; n > 0; --n)
    if (answer.ends_with(head_end.substr(0, n))) return head_end.size() - n;
  return head_end.size();
}

// What the proxy has said so far: nothing, if its final response has not arrived.
std::optional<status> outcome_of(http1::connection& engine, const tunnel& t) {
  using kind = http1::event::kind;
  for (http1::event e; (e = engine.next()).type != kind::none;) {
    if (e.type == kind::failed) return refused(t, e.reason);
    if (e.type != kind::headers || e.informational) continue;
    const std::string_view code = engine.fields()[0].value;
    // RFC 9110 9.3.6: any 2xx response opens the tunnel.
    if (code.front() == '2') return status();
    std::string line(code);
    return refused(t, line.append(" ").append(engine.reason_phrase()));
  }
  return std::nullopt;
}

}  // namespace

task<status> open_tunnel(loop& on, runtime_internal::handle to_proxy, const tunnel& t) {
  http1::connection engine(http1::role::client, limits_of_answer(), on.now());
  if (!engine.begin_request("CONNECT", t.to, t.to, {}))
    co_return refused(t, "its name is not valid in a URI");
  if (!t.authorization.empty()) engine.add_field("proxy-authorization", t.authorization);
  engine.end_headers();
  const bytes_view request = engine.output().pending();
  const runtime_internal::operation::piece piece{request.data(), request.size()};
  net::io_wait sending(on, runtime_internal::operation::kind::send, to_proxy);
  sending.pieces = &piece;
  sending.piece_count = 1;
  std::int64_t moved = co_await sending;
  if (moved < 0) co_return net::stream_error(moved, "sending CONNECT to the proxy");

  std::array<std::uint8_t, head_end.size()> bytes;
  std::string last;  // the last bytes that arrived
  net::io_wait receiving(on, runtime_internal::operation::kind::receive, to_proxy);
  for (;;) {
    receiving.into = mutable_bytes(bytes.data(), missing_bytes(last));
    moved = co_await receiving;
    if (moved < 0) co_return net::stream_error(moved, "reading the proxy's response");
    const bytes_view some(bytes.data(), static_cast<std::size_t>(moved));
    if (moved == 0) engine.feed_end(on.now());
    else engine.feed(some, on.now());
    if (std::optional<status> known = outcome_of(engine, t)) co_return *std::move(known);
    last.append(as_text(some));
    if (last.size() > head_end.size()) last.erase(0, last.size() - head_end.size());
  }
}

}  // namespace coracle::client
