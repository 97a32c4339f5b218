// byte_programs: tasks that send and receive bytes over streams inside a simulated world.
#pragma once

#include "coracle/coro/sleep.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing_support {

inline std::string pattern(std::size_t size, unsigned start = 0) {
  std::string s(size, '\0');
  for (std::size_t i = 0; i < size; ++i) s[i] = static_cast<char>((i * 131 + start) % 251);
  return s;
}

inline bytes_view as_bytes(std::string_view s) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()};
}

// What one side of a connection observed.
struct received {
  std::string bytes;
  std::vector<std::size_t> reads;
  status end{status_code::unknown, "has not ended"};
  time_point ended{};
  bool has_ended = false;
};

struct byte_programs {
  // Reads until the end or an error.
  static task<> collect(net::stream& from, received& into) {
    std::array<std::uint8_t, 8192> room;
    while (true) {
      const result<std::size_t> got = co_await from.read(room);
      if (!got || *got == 0) {
        into.end = got.status();
        break;
      }
      into.reads.push_back(*got);
      into.bytes.append(reinterpret_cast<const char*>(room.data()), *got);
    }
    into.ended = coro::this_executor().now();
    into.has_ended = true;
  }
  // Serves `count` connections on a port, one after the other.
  static task<> receive_on(std::uint16_t port, std::vector<received>& into) {
    auto door = net::listener::open(net::address::parse("0.0.0.0:" + std::to_string(port)).value());
    for (received& one : into) {
      result<net::stream> s = co_await door->accept();
      while (!s && s.status().code() == status_code::resource_exhausted) {
        co_await sleep_for(std::chrono::milliseconds(10));  // sleeps on purpose: virtual time
        s = co_await door->accept();
      }
      if (!s) co_return;
      co_await collect(*s, one);
    }
  }
  // Connects, writes, ends its side, and reads from the other side until its end.
  static task<> send_to(std::string to, std::string text, status& out) {
    result<net::stream> s = co_await net::stream::connect(net::address::parse(to).value());
    out = s.status();
    if (!s) co_return;
    out = co_await s->write(as_bytes(text));
    if (!out.ok()) co_return;
    s->shutdown_send();
    received answer;
    co_await collect(*s, answer);
    out = answer.end;
  }
};

}  // namespace coracle::testing_support
