#include "tools/load/rest_connection.hpp"

#include <coracle/base/bytes.hpp>
#include <coracle/base/result.hpp>
#include <coracle/coro/with_timeout.hpp>
#include <coracle/http1/impl/response_reader.hpp>
#include <coracle/net/address.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/stream.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::tools::load {

namespace {

// A call that a timeout has stopped reports CANCELLED.
call_end http_end_of(const status& outcome) {
  if (outcome.code() == status_code::cancelled || outcome.code() == status_code::deadline_exceeded)
    return call_end::failed("DEADLINE_EXCEEDED", "it took longer than the time limit");
  return call_end::failed(std::string(name_of(outcome.code())), std::string(outcome.message()));
}

class rest_connection final : public connection {
 public:
  rest_connection(const http_url& url, duration timeout) : url_(url), timeout_(timeout) {}

  task<call_end> open(duration at_most) override {
    result<net::stream> made = co_await coracle::with_timeout(at_most, dial());
    if (!made.ok()) co_return http_end_of(made.status());
    peer_ = made->peer_address().to_string();
    idle_.push_back(std::move(*made));
    co_return call_end();
  }
  // The address of the server that open() connected to.
  [[nodiscard]] const std::string& peer() const noexcept { return peer_; }

  [[nodiscard]] wire_bytes wire() const noexcept override { return wire_; }

  task<call_end> call(const request_source& source, request_place which) override {
    const std::string body = source.json(which).value_or(std::string());
    call_end end;
    result<http1::response_reader> reply = co_await coracle::with_timeout(timeout_, ask(body));
    if (!reply.ok()) end = http_end_of(reply.status());
    else if (reply->code() < 200 || reply->code() > 299)
      end = call_end::failed("HTTP " + std::to_string(reply->code()), reply->reason());
    end.messages_sent = 1;
    end.bytes_sent = body.size();
    end.messages_received = reply.ok() ? 1 : 0;
    end.bytes_received = reply.ok() ? reply->body_bytes() : 0;
    co_return end;
  }

 private:
  task<result<net::stream>> dial() {
    const bool v6 = url_.host().find(':') != std::string::npos;
    const std::string text = (v6 ? "[" + url_.host() + "]" : url_.host()) + ":" + std::to_string(url_.port());
    // Accepts addresses and localhost, which need no name server.
    result<std::vector<net::address>> known = net::parse_addresses(text);
    if (known.ok()) co_return co_await net::connect(std::move(*known));
    co_return co_await net::connect(url_.host(), url_.port());
  }

  task<result<http1::response_reader>> ask(const std::string& body) {
    const std::string request =
        "POST " + url_.path() + " HTTP/1.1\r\nHost: " + url_.authority() +
        "\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    while (!idle_.empty()) {
      net::stream kept = std::move(idle_.back());
      idle_.pop_back();
      http1::response_reader reply;
      const status outcome = co_await exchange(kept, request, reply);
      if (outcome.ok()) co_return leave(std::move(kept), std::move(reply));
      // A server may close an idle connection just as the request is sent. If no response has begun, it has
      // not processed the request, and the request may be retried (RFC 9110 9.2.2).
      if (reply.begun() || outcome.code() != status_code::unavailable) co_return outcome;
    }
    result<net::stream> fresh = co_await dial();
    if (!fresh.ok()) co_return fresh.status();
    ++reconnects_;
    http1::response_reader reply;
    const status outcome = co_await exchange(*fresh, request, reply);
    if (!outcome.ok()) co_return outcome;
    co_return leave(std::move(*fresh), std::move(reply));
  }

  // Keeps the stream for reuse if the server keeps it alive.
  http1::response_reader leave(net::stream over, http1::response_reader reply) {
    if (reply.keeps_alive()) idle_.push_back(std::move(over));
    return reply;
  }

  task<status> exchange(net::stream& over, const std::string& request, http1::response_reader& reply) {
    const status sent = co_await over.write(as_bytes(request));
    if (!sent.ok()) co_return sent;
    wire_.sent += request.size();
    std::array<std::uint8_t, 8192> room;
    while (!reply.complete()) {
      const result<std::size_t> n = co_await over.read(room);
      if (!n.ok()) co_return n.status();
      wire_.received += *n;
      if (*n == 0) reply.end_of_stream();
      else reply.feed(as_text(bytes_view(room.data(), *n)));
      if (!reply.broken().empty())
        co_return status::unavailable("the response is not valid: " + reply.broken());
    }
    co_return status();
  }

  const http_url& url_;
  const duration timeout_;
  std::string peer_;
  wire_bytes wire_;
  std::vector<net::stream> idle_;
};

}  // namespace

std::unique_ptr<connection> rest_connector::make() {
  return std::make_unique<rest_connection>(url_, timeout_);
}

task<call_end> rest_connector::reach(duration at_most, server_identity& identity) {
  rest_connection one(url_, timeout_);
  call_end opened = co_await one.open(at_most);
  identity.address = one.peer();
  co_return opened;
}

}  // namespace coracle::tools::load
