// The engines of a client and a server whose outputs are fed to each other, without a socket.
#pragma once

#include "http2/connection.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace coracle::http2::test {

struct engine_pair {
  explicit engine_pair(const limits& of_client = {}, const limits& of_server = {})
      : client(role::client, of_client, now), server(role::server, of_server, now) {}

  using handler = std::function<void(const event&)>;

  // Feeds the output of `from` to `to`, whose events go to `h`. Returns false if there was none.
  bool move(connection& from, connection& to, const handler& h) {
    from.produce();
    if (from.output().empty()) return false;
    in_flight_.assign(from.output().pending().begin(), from.output().pending().end());
    from.output().clear();
    to.feed(in_flight_, now);
    drain(to, h);
    return true;
  }
  static void drain(connection& of, const handler& h) {
    for (event e = of.next(); e.type != event::kind::none; e = of.next()) h(e);
  }
  // Until neither side has output.
  void run() {
    drain(client, on_client);
    drain(server, on_server);
    bool moved = true;
    while (moved) {
      moved = move(client, server, on_server);
      moved |= move(server, client, on_client);
    }
  }

  time_point now{};
  connection client;
  connection server;
  handler on_client = [](const event&) {};
  handler on_server = [](const event&) {};

 private:
  std::vector<std::uint8_t> in_flight_;
};

}  // namespace coracle::http2::test
