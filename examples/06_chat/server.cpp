// chat_server: each line goes to everybody. Who does not read is sent away, so that nobody waits for him.
#include "../command_line.hpp"

#include <coracle/runtime.hpp>

#include <cstdio>
#include <optional>
#include <set>
#include <string>

namespace {

namespace net = coracle::net;
using coracle::task;

// One on one loop: no lock is needed, and a line meets everybody in the same order.
class room {
 public:
  class member {
   public:
    member(net::stream s, const coracle::coro::environment& until) noexcept
        : connection(std::move(s)), talking(until) {}
    net::stream connection;
    coracle::scope talking;
    coracle::queue<std::string> outbox{64};  // the bound on what one slow reader costs
  };

  void enter(member& m) { members_.insert(&m); }
  void leave(member& m) { members_.erase(&m); }
  void say(const std::string& line) {
    for (member* m : members_) {
      std::string copy = line;
      if (!m->outbox.try_send(std::move(copy))) m->talking.request_stop();  // too slow: it has to go
    }
  }

 private:
  std::set<member*> members_;
};

task<> listen_to(room::member& m, room& everybody) {
  net::line_reader lines(m.connection);
  for (;;) {
    const coracle::result<std::optional<std::string>> line = co_await lines.next();
    if (!line.ok() || !*line) break;
    everybody.say(**line + "\n");
  }
  m.outbox.close();  // the writer still sends what was said so far
}

task<> speak_to(room::member& m) {
  try {
    for (;;) {
      const std::optional<std::string> line = co_await m.outbox.receive();
      if (!line) break;
      const coracle::status sent = co_await m.connection.write(coracle::as_bytes(*line));
      if (!sent.ok()) break;
    }
  } catch (const coracle::coro::cancelled&) {  // the guest is sent away, or the server ends
  }
  m.talking.request_stop();
}

task<> attend(net::stream connection, room& everybody, const coracle::coro::environment& until) {
  room::member m(std::move(connection), until);
  everybody.enter(m);
  m.talking.spawn(speak_to(m));
  m.talking.spawn(listen_to(m, everybody));
  co_await m.talking.join();
  everybody.leave(m);
}

task<> accept_all(net::listener& listener, room& everybody, coracle::scope& guests) {
  for (;;) {
    coracle::result<net::stream> next = co_await listener.accept();
    if (!next) break;  // stopped: accept() itself retries after transient errors
    guests.spawn(attend(*std::move(next), everybody, guests.environment()));
  }
}

task<> serve(std::uint16_t port) {
  net::signal_watch signals = net::signal_watch::open().value();
  net::listener listener = net::listener::open(net::address::loopback_v4(port)).value();
  std::printf("listening on %s\n", listener.local_address().to_string().c_str());
  std::fflush(stdout);
  room everybody;
  coracle::scope guests;
  guests.spawn(accept_all(listener, everybody, guests));
  const coracle::result<coracle::process_signal> signal = co_await signals.next();
  guests.request_stop();
  co_await guests.join();
  co_await listener.close();
  std::printf("ended by %s\n", signal.ok() ? "a signal" : "the runtime");
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("chat_server", [&] {
    const examples::command_line line(argc, argv, "--port=PORT");
    coracle::runtime loops;
    coracle::sync_wait(loops, serve(line.port("port")));
    return 0;
  });
}
