// connect_proxy: a small proxy that opens tunnels (HTTP CONNECT), on the loop that constructs it.
#pragma once

#include "coracle/coro/scope.hpp"
#include "coracle/net/connect.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support {

class connect_proxy {
 public:
  connect_proxy() : listening_(*net::listener::open(net::address::loopback_v4(0))) {}
  [[nodiscard]] std::string url(const std::string& user = {}) const {
    return "http://" + user + listening_.local_address().to_string();
  }
  // The destination of each name; other names are refused.
  std::vector<std::pair<std::string, net::address>> routes;
  std::string answer = "HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n";
  std::vector<std::string> questions;  // the head of each

  void start() { work_.spawn(accept()); }
  task<> stop() {
    work_.request_stop();
    co_await work_.join();
    co_await listening_.close();
  }

 private:
  static constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  task<> accept() {
    while (true) {
      result<net::stream> next = co_await listening_.accept();
      if (!next) co_return;
      work_.spawn(serve(*std::move(next)));
    }
  }
  task<> serve(net::stream client) {
    std::string head;
    std::array<std::uint8_t, 1024> bytes;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const auto got = co_await client.read(bytes);
      if (!got || *got == 0) co_return;
      head.append(reinterpret_cast<const char*>(bytes.data()), *got);
    }
    questions.push_back(head);
    for (const auto& [name, where] : routes) {
      if (!head.starts_with("CONNECT " + name + " HTTP/1.1\r\n")) continue;
      result<net::stream> server = co_await net::stream::connect(where);
      if (!server) break;
      // The first bytes of the server in the same write as the response: none of them may be lost. The server
      // sends after the preface, which the client sends only later.
      if (const status s = co_await server->write(as_bytes(preface)); !s.ok()) co_return;
      std::string first = answer;
      const auto got = co_await server->read(bytes);
      if (got) first.append(reinterpret_cast<const char*>(bytes.data()), *got);
      if (const status s = co_await client.write(as_bytes(first)); !s.ok()) co_return;
      std::array<std::uint8_t, preface.size()> again;
      for (std::size_t n = 0; n < again.size();) {
        const auto more = co_await client.read(mutable_bytes(again).subspan(n));
        if (!more || *more == 0) co_return;
        n += *more;
      }
      scope both;
      both.spawn(pump(client, *server));
      both.spawn(pump(*server, client));
      try {
        co_await both.join();
      } catch (const coro::cancelled&) {
      }
      co_return;
    }
    const std::string no = "HTTP/1.1 403 not there\r\n\r\n";
    (void)co_await client.write(as_bytes(no));
  }
  static task<> pump(net::stream& from, net::stream& to) {
    std::array<std::uint8_t, 4096> bytes;
    while (true) {
      const auto got = co_await from.read(bytes);
      if (!got || *got == 0) break;
      const bytes_view some(bytes.data(), *got);
      if (const status s = co_await to.write(some); !s.ok()) break;
    }
    to.shutdown_send();
  }

  net::listener listening_;
  scope work_;
};

}  // namespace coracle::testing_support
