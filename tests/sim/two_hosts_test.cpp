// Client and server on two hosts of a simulated world: the real engine, virtual time.
#include "support/echo_service.hpp"

#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::testing_support::two_hosts_test {
namespace {

using namespace std::chrono_literals;

echo::Text text(std::string text, int count = 0) {
  echo::Text t;
  t.set_text(std::move(text));
  t.set_count(count);
  return t;
}

struct program {
  static task<int> chat(echo_stub s, int rounds) {
    auto call = s.Chat();
    int got = 0;
    for (int i = 0; i < rounds; ++i) {
      const echo::Text one = text(std::string(static_cast<std::size_t>(i) * 100, 'x'), i);
      (co_await call.write(one)).throw_if_error();
      const auto back = (co_await call.next()).value();
      if (back && back->count() == i) ++got;
    }
    const status end = co_await call.finish();
    EXPECT_EQ(end, status());
    co_return got;
  }
  static task<int> everything(echo_stub s) {
    std::vector<task<int>> chats;
    for (int i = 0; i < 10; ++i) chats.push_back(chat(s, 20));
    int sum = 0;
    for (const int n : co_await when_all(std::move(chats))) sum += n;
    const echo::Text hang = text("hang");
    const call_options limit = within(30min);
    const auto late = co_await s.Misbehave(hang, limit);
    EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
    co_return sum;
  }
};

struct outcome {
  int sum = 0;
  std::uint64_t hash = 0;
  std::uint64_t length = 0;
  duration took{};
};

outcome run_world(std::uint64_t seed) {
  outcome out;
  sim::world world(seed);
  runtime& server_host = world.host("server", 2);
  runtime& client_host = world.host("client");
  echo_service service;
  {
    server srv(server_host);
    srv.add(service);
    EXPECT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
    channel c(client_host, world.address_of("server") + ":50051", insecure());
    const time_point began = world.now();
    out.sum = sync_wait(client_host, program::everything(echo_stub(c)));
    out.took = world.now() - began;
  }
  out.hash = world.trace_hash();
  out.length = world.trace_length();
  return out;
}

TEST(TwoSimulatedHosts, HalfAnHourPassesInNoTime) {
  const outcome o = run_world(1);
  EXPECT_EQ(o.sum, 200);
  EXPECT_GE(o.took, 30min);
  EXPECT_LT(o.took, 31min);
}

TEST(TwoSimulatedHosts, TheSameSeedTakesTheSameSteps) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const outcome first = run_world(seed);
    const outcome second = run_world(seed);
    EXPECT_EQ(first.sum, 200) << seed;
    EXPECT_EQ(first.hash, second.hash) << seed;
    EXPECT_GT(first.length, 40u) << seed;
  }
}

TEST(TwoSimulatedHosts, ASignalDrainsTheServer) {
  sim::world world(3);
  runtime& server_host = world.host("server");
  runtime& client_host = world.host("client");
  echo_service service;
  server srv(server_host);
  srv.add(service);
  ASSERT_EQ(srv.listen("0.0.0.0:50051", insecure()), status());
  channel c(client_host, world.address_of("server") + ":50051", insecure());
  const echo_stub stub(c);
  EXPECT_EQ(sync_wait(stub.Say(text("before"))).status(), status());
  struct watcher {
    static task<> terminate(sim::world& w) {
      co_await sleep_for(5s);
      EXPECT_TRUE(w.signal("server", process_signal::terminate));
    }
  };
  client_host.spawn(watcher::terminate(world));
  EXPECT_EQ(srv.run(), 0);
  EXPECT_EQ(sync_wait(stub.Say(text("after"))).status().code(), status_code::unavailable);
}

}  // namespace
}  // namespace coracle::testing_support::two_hosts_test
