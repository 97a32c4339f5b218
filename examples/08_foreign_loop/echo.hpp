// A TCP echo server and its client: ordinary tasks, which do not see who drives their loop.
#pragma once

#include "coracle/runtime.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

inline void expect(bool held, const char* what) {
  if (!held) throw std::runtime_error(what);
}

inline coracle::task<> serve(coracle::net::listener& port) {
  coracle::net::stream peer = (co_await port.accept()).value();
  std::array<std::uint8_t, 4096> bytes;
  for (;;) {
    const std::size_t n = (co_await peer.read(bytes)).value();
    if (n == 0) break;
    const coracle::status sent = co_await peer.write(coracle::bytes_view(bytes.data(), n));
    expect(sent.ok(), "the server could not write");
  }
  peer.close();
  co_await port.close();
}

inline coracle::task<> ask(coracle::net::address server, int messages, int& echoed) {
  coracle::net::stream peer = (co_await coracle::net::stream::connect(server)).value();
  std::array<std::uint8_t, 64> bytes;
  for (int i = 0; i < messages; ++i) {
    const std::string message = "message " + std::to_string(i);
    const coracle::status sent = co_await peer.write(coracle::as_bytes(message));
    expect(sent.ok(), "the client could not write");
    std::string back;
    while (back.size() < message.size()) {
      const std::size_t n = (co_await peer.read(bytes)).value();
      expect(n > 0, "the server hung up");
      back += coracle::as_text(coracle::bytes_view(bytes.data(), n));
    }
    expect(back == message, "another message came back");
    ++echoed;
    co_await coracle::sleep_for(
        std::chrono::milliseconds(1));  // a timer of Coracle's, met by the foreign loop
  }
  peer.close();
}

inline coracle::task<> echo(int messages, int& echoed) {
  coracle::net::listener port = coracle::net::listener::open(coracle::net::address::loopback_v4(0)).value();
  const coracle::net::address here = port.local_address();
  co_await coracle::when_all(serve(port), ask(here, messages, echoed));
}
