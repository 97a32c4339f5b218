// written_client: an HTTP/2 client inside a simulated world whose frames are written by hand.
#pragma once

#include "support/raw_frames.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/loop.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::testing_support {

// What a written client received until the server closed, or until its condition was met.
struct peer_record {
  std::string bytes;
  duration took{};
  bool ended = false;  // by the server

  // The number of frames of a kind, with all of these flags.
  [[nodiscard]] int count(char kind, char flags = 0) const {
    int n = 0;
    for (std::size_t at = 0; at + 9 <= bytes.size();) {
      const auto octet = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
      n += bytes[at + 3] == kind && (bytes[at + 4] & flags) == flags;
      at += 9u + (octet(0) << 16 | octet(1) << 8 | octet(2));
    }
    return n;
  }
  [[nodiscard]] bool has(std::string_view text) const { return bytes.find(text) != std::string::npos; }
};

struct written_client {
  // Sends `first`, and `then` `times` times, each after `pause`; reads until the server closes or until
  // `acks` of its PINGs are acknowledged. It acknowledges nothing itself.
  static task<peer_record> talk(std::string at, std::string first, std::string then = {}, duration pause = {},
                                int times = 0, int acks = 0) {
    peer_record h;
    const time_point began = loop::current()->now();
    auto connected = co_await net::stream::connect(net::address::parse(at).value());
    if (!connected) co_return h;
    auto reply = co_await connected->write(as_bytes(first));
    for (int i = 0; i < times && reply.ok(); ++i) {
      co_await sleep_for(pause);
      reply = co_await connected->write(as_bytes(then));
    }
    std::uint8_t room[4096];
    while (acks == 0 || h.count(raw_frames::ping, raw_frames::ack) < acks) {
      const auto got = co_await connected->read(room);
      h.ended = !got || *got == 0;
      if (h.ended) break;
      h.bytes.append(reinterpret_cast<const char*>(room), *got);
    }
    h.took = loop::current()->now() - began;
    co_return h;
  }
};

}  // namespace coracle::testing_support
