// Connections that one loop accepts and all loops serve: move_to(), spawn(), and lines in the log of the runtime.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace net = coracle::net;

constexpr int connections = 8;

coracle::task<> echo(net::stream connection, std::atomic<unsigned>& served_on) {
  const coracle::loop& here = *coracle::loop::current();
  here.log().info("serving ", connection.peer_address(), " on loop ", here.index());
  served_on |= 1u << here.index();
  std::array<std::uint8_t, 512> room{};
  for (;;) {
    const coracle::result<std::size_t> read = co_await connection.read(room);
    if (!read || *read == 0) co_return;
    const coracle::status sent = co_await connection.write(coracle::bytes_view(room).first(*read));
    if (!sent.ok()) co_return;
  }
}

coracle::task<> accept_all(net::listener& from, std::atomic<unsigned>& served_on) {
  coracle::runtime& rt = coracle::loop::current()->owner();
  for (int i = 0; i < connections; ++i) {
    coracle::result<net::stream> accepted = co_await from.accept();
    if (!accepted) co_return;
    coracle::loop& where = rt.next();
    accepted->move_to(where);  // from here on `where` is the connection's loop
    rt.spawn_on(where, echo(*std::move(accepted), served_on));
  }
}

coracle::task<> say(net::address server, std::string text, int& answered) {
  coracle::result<net::stream> connection = co_await net::stream::connect(server);
  if (!connection) co_return;
  const coracle::status sent = co_await connection->write(coracle::as_bytes(text));
  if (!sent.ok()) co_return;
  connection->shutdown_send();
  std::string answer;
  std::array<std::uint8_t, 64> room{};
  for (;;) {
    const coracle::result<std::size_t> read = co_await connection->read(room);
    if (!read || *read == 0) break;
    answer.append(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*read));
  }
  if (answer == text) ++answered;
}

coracle::task<> start(int& answered, std::atomic<unsigned>& served_on) {
  net::listener waiting = net::listener::open(net::address::loopback_v4(0)).value();
  for (int i = 0; i < connections; ++i)
    coracle::spawn(say(waiting.local_address(), "hello " + std::to_string(i), answered));  // on this loop
  co_await accept_all(waiting, served_on);
  co_await waiting.close();
}

int main() {
  coracle::runtime rt(2);
  int answered = 0;
  std::atomic<unsigned> served_on = 0;
  rt.spawn_on(rt.at(0), start(answered, served_on));
  rt.run();  // returns when every task has ended, those of spawn() too
  check(answered == connections, "every connection was answered");
  check(served_on == 3, "both loops served connections");
}
