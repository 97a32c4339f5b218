#include "rpc.hpp"

#include "../lab.hpp"

#include <stdexcept>
#include <string>
#include <utility>

using lab::code;
using lab::expect;

lab::task<std::string> greet(std::string name) { co_return "hello " + name; }
lab::task<std::string> fail(std::string) {
  throw std::runtime_error("no luck");
  co_return "";
}
// The first call waits until the second one has been made.
class meeting {
 public:
  lab::task<std::string> wait(std::string) {
    co_await second_;
    co_return "met";
  }
  lab::task<std::string> come(std::string) {
    second_.set();
    co_return "came";
  }

 private:
  lab::event second_;
};

lab::task<> expect_reply(lab::client& c, std::string method, std::string text, code outcome,
                         std::string answer, int& right) {
  const lab::reply got = co_await c.call(std::move(method), std::move(text));
  if (got.outcome() == outcome && got.text() == answer) ++right;
}

lab::task<> talk(lab::io_loop& on, lab::client& c) {
  const lab::reply greeting = co_await c.call("greet", "Ada");
  expect(greeting.outcome() == code::ok && greeting.text() == "hello Ada",
         "the reply of the handler arrives");
  const lab::reply empty = co_await c.call("greet", "");
  expect(empty.text() == "hello ", "a request may be empty");
  const std::string large(200'000, 'x');
  const lab::reply enlarged = co_await c.call("greet", large);
  expect(enlarged.text() == "hello " + large, "a request may be larger than a socket holds");
  const lab::reply unknown = co_await c.call("depart", "");
  expect(unknown.outcome() == code::unimplemented, "a method that does not exist is UNIMPLEMENTED");
  const lab::reply failed = co_await c.call("fail", "");
  expect(failed.outcome() == code::unknown && failed.text() == "no luck",
         "an exception of a handler is UNKNOWN");

  int right = 0;
  on.spawn(expect_reply(c, "wait", "", code::ok, "met", right));
  const lab::reply came = co_await c.call("come", "");
  for (int i = 0; i < 100 && right == 0; ++i) co_await on.yield();
  const lab::reply last = co_await c.call("greet", "the end");
  expect(came.text() == "came" && right == 1 && last.outcome() == code::ok,
         "a call that waits does not hold up the calls after it on its connection");
  c.close();
}

lab::task<> call_many(lab::io_loop& on, lab::client& c, int count, int& right) {
  for (int i = 0; i < count; ++i)
    on.spawn(expect_reply(c, "greet", std::to_string(i), code::ok, "hello " + std::to_string(i), right));
  while (right < count) {
    const lab::reply beside_them = co_await c.call("greet", "beside them");
    expect(beside_them.outcome() == code::ok, "a call beside a hundred others is answered");
  }
  c.close();
}

lab::task<> read_a_little_and_leave(lab::io_loop& on, lab::descriptor peer) {
  co_await on.readable(peer.get());
}
lab::task<> call_in_vain(lab::client& c, int& unavailable) {
  const lab::reply got = co_await c.call("greet", "anyone");
  if (got.outcome() == code::unavailable) ++unavailable;
  const lab::reply again = co_await c.call("greet", "anyone");
  if (again.outcome() == code::unavailable) ++unavailable;
}

void test() {
  lab::io_loop loop;
  lab::server greeter(loop);
  meeting m;
  greeter.add("greet", &greet);
  greeter.add("fail", &fail);
  greeter.add("wait", [&m](std::string text) { return m.wait(std::move(text)); });
  greeter.add("come", [&m](std::string text) { return m.come(std::move(text)); });
  {
    auto [here, there] = lab::connected_pair();
    lab::client c(loop, std::move(here));
    loop.spawn(greeter.serve(std::move(there)));
    loop.spawn(c.read_replies());
    loop.spawn(talk(loop, c));
    loop.run();
  }
  {
    auto [here, there] = lab::connected_pair();
    lab::client c(loop, std::move(here));
    int right = 0;
    loop.spawn(greeter.serve(std::move(there)));
    loop.spawn(c.read_replies());
    loop.spawn(call_many(loop, c, 100, right));
    loop.run();
    expect(right == 100, "a hundred calls at the same time each get their own reply");
  }
  auto [here, there] = lab::connected_pair();
  lab::client c(loop, std::move(here));
  int unavailable = 0;
  loop.spawn(read_a_little_and_leave(loop, std::move(there)));
  loop.spawn(c.read_replies());
  loop.spawn(call_in_vain(c, unavailable));
  loop.run();
  expect(unavailable == 2, "when the connection ends, calls end with UNAVAILABLE, also those made later");
}

int main() { return lab::run_test(test); }
