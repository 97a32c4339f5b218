#include "io_loop.hpp"

#include "../lab.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

using lab::expect;

lab::task<> serve(lab::io_loop& on, const lab::descriptor& listener, int connections) {
  for (int i = 0; i < connections; ++i) {
    lab::descriptor connection = co_await lab::accept(on, listener);
    on.spawn(lab::echo(on, std::move(connection)));
  }
}

lab::task<> send(lab::io_loop& on, int fd, std::string text) {
  co_await lab::write_all(on, fd, text);
  ::shutdown(fd, SHUT_WR);
}

// Writes and reads at the same time: what is on its way is more than the sockets hold.
lab::task<> ask(lab::io_loop& on, std::uint16_t port, std::string text, int& answered) {
  const lab::descriptor connection = lab::connect_to(port);
  on.spawn(send(on, connection.get(), text));
  std::string answer;
  char room[1000];
  for (;;) {
    const std::size_t n = co_await lab::read(on, connection.get(), room);
    if (n == 0) break;
    answer.append(room, n);
  }
  if (answer == text) ++answered;
}

lab::task<> read_one(lab::io_loop& on, const lab::descriptor& from, std::string& log) {
  char room[1];
  const std::size_t n = co_await lab::read(on, from.get(), room);
  log += n == 1 ? std::string(1, room[0]) : "end";
}
lab::task<> write_one(lab::io_loop& on, const lab::descriptor& to, std::string& log) {
  log += "write ";
  co_await lab::write_all(on, to.get(), "x");
}

std::string numbers(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += std::to_string(i) + ' ';
  return text;
}

void test() {
  lab::io_loop loop;
  auto [here, there] = lab::connected_pair();
  std::string log;
  loop.spawn(read_one(loop, here, log));
  loop.spawn(write_one(loop, there, log));
  loop.run();
  expect(log == "write x", "a read waits until bytes arrive, and other tasks run meanwhile");

  const lab::descriptor listener = lab::listen_on_loopback();
  int answered = 0;
  loop.spawn(serve(loop, listener, 1));
  loop.spawn(ask(loop, lab::port_of(listener), "hello", answered));
  loop.run();
  expect(answered == 1, "the server sends a line back");

  loop.spawn(serve(loop, listener, 2));
  loop.spawn(ask(loop, lab::port_of(listener), numbers(100'000), answered));
  loop.spawn(ask(loop, lab::port_of(listener), numbers(200'000), answered));
  loop.run();
  expect(answered == 3,
         "the server serves two connections at the same time, with more bytes than the sockets hold");
}

int main() { return lab::run_test(test); }
