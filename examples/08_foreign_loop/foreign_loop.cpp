// gRPC inside an event loop that knows nothing of it: plain poll(2), with a timer and a pipe.
#include "../command_line.hpp"
#include "greetings.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int calls = 100;

// Waits in poll(2): for a timer of 5 ms, a pipe, and Coracle's descriptor.

class foreign_loop {
 public:
  foreign_loop() {
    if (::pipe(pipe_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  }
  foreign_loop(const foreign_loop&) = delete;
  foreign_loop& operator=(const foreign_loop&) = delete;
  ~foreign_loop() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }

  // --8<-- [start:run]
  void run(coracle::runtime& guest) {
    clock::time_point next_tick = clock::now() + 5ms;
    while (going_) {
      // Asked for anew before each wait: this submits what the guest has queued and arms its next deadline.
      pollfd watched[] = {{pipe_[0], POLLIN, 0}, {guest.pollable(), POLLIN, 0}};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_tick - clock::now());
      ::poll(watched, 2, std::max(0, static_cast<int>(left.count())));
      ++waits;
      if (watched[0].revents != 0) take_from_pipe();
      if (clock::now() >= next_tick) {
        next_tick += 5ms;
        ++ticks;
        expect(::write(pipe_[1], "t", 1) == 1, "the pipe is full");
      }
      if (watched[1].revents != 0) {
        ++turns;
        going_ = guest.poll();
      }
    }
    while (piped < ticks) take_from_pipe();
  }
  // --8<-- [end:run]

  int waits = 0;
  int ticks = 0;
  int piped = 0;
  int turns = 0;

 private:
  void take_from_pipe() {
    char bytes[64];
    piped += static_cast<int>(std::max<ssize_t>(0, ::read(pipe_[0], bytes, sizeof bytes)));
  }
  int pipe_[2];
  bool going_ = true;
};

int run_both() {
  coracle::runtime guest;
  greeter service;
  coracle::server server(guest);
  server.add(service);
  if (const auto bound = server.listen("127.0.0.1:0", coracle::insecure()); !bound.ok())
    throw coracle::status_error(bound);
  coracle::channel channel(guest, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  int answered = 0;
  guest.spawn(greet(helloworld::rpc::Greeter::stub(channel), calls, answered));
  foreign_loop host;
  host.run(guest);
  std::printf("%d calls answered, %d ticks of the foreign timer, %d turns in %d waits\n", answered,
              host.ticks, host.turns, host.waits);
  expect(answered == calls, "calls are missing");
  expect(host.ticks >= calls / 5, "the foreign timer starved");
  expect(host.piped == host.ticks, "the foreign pipe starved");
  expect(host.turns <= calls * 20, "the guest kept its host spinning");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("foreign_loop", [&] {
    const examples::command_line none(argc, argv, "");
    return run_both();
  });
}
