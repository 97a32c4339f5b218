// The simulated network, through streams and listeners.
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace coracle::net::sim_network_test {
namespace {

using namespace std::chrono_literals;

task<> echo_stream(stream s) {
  std::vector<std::uint8_t> buffer(1000);
  for (;;) {
    const result<std::size_t> n = co_await s.read(buffer);
    if (!n.ok() || *n == 0) break;
    const status sent = co_await s.write(bytes_view(buffer).first(*n));
    if (!sent.ok()) break;
  }
}

task<> serve(int connections) {
  listener l = listener::open(address::parse("0.0.0.0:50051").value()).value();
  scope work(co_await coro::this_environment());
  for (int i = 0; i < connections; ++i) {
    result<stream> s = co_await l.accept();
    if (!s) break;
    work.spawn(echo_stream(*std::move(s)));
  }
  co_await work.join();
  co_await l.close();
}

task<> call(std::string where, std::uint32_t salt, int& done) {
  result<stream> s = co_await stream::connect(address::parse(where).value());
  EXPECT_TRUE(s.ok()) << s.status();
  if (!s) co_return;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::string question = pattern(1 + (salt * 37 + i * 113) % 5000, salt + i);
    const status sent = co_await write_text(*s, question);
    EXPECT_TRUE(sent.ok());
    const std::string answer = co_await read_text(*s, question.size());
    EXPECT_TRUE(answer == question);
  }
  ++done;
}

class outcome {
 public:
  std::uint64_t hash = 0;
  std::uint64_t events = 0;
  duration took{};
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome many_clients(std::uint64_t seed) {
  sim::world w(seed);
  const time_point start = w.now();
  w.host("server", 2).spawn(serve(12));
  int done = 0;
  for (std::uint32_t i = 0; i < 12; ++i)
    w.host("client" + std::to_string(i % 4), 2).spawn(call(w.address_of("server") + ":50051", i, done));
  w.run();
  EXPECT_EQ(done, 12);
  outcome o;
  o.hash = w.trace_hash();
  o.events = w.trace_length();
  o.took = w.now() - start;
  return o;
}

TEST(SimNetwork, TheSameSeedTakesTheSameSteps) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const outcome first = many_clients(seed);
    EXPECT_EQ(first, many_clients(seed)) << "seed " << seed;
    EXPECT_GT(first.events, 12u * 20 * 2);
  }
}

TEST(SimNetwork, AnotherSeedTakesAnotherWay) { EXPECT_NE(many_clients(1).hash, many_clients(2).hash); }

task<> ping(std::string where, duration& took) {
  result<stream> s = co_await stream::connect(address::parse(where).value());
  const time_point start = coro::this_executor().now();
  const status sent = co_await write_text(*s, "x");
  EXPECT_TRUE(sent.ok());
  const std::string back = co_await read_text(*s, 1);
  EXPECT_EQ(back, "x");
  took = coro::this_executor().now() - start;
}

TEST(SimNetwork, ARoundTripTakesTheLatencyTwice) {
  sim::world w(1, sim::world_options{.latency = 20ms});
  w.host("server").spawn(serve(1));
  duration took{};
  w.host("client").spawn(ping(w.address_of("server") + ":50051", took));
  w.run();
  EXPECT_EQ(took, 40ms);
}

task<> connect_into(std::string where, std::optional<status>& outcome) {
  const result<stream> s = co_await stream::connect(address::parse(where).value());
  outcome = s.status();
}

TEST(SimNetwork, NobodyListensOrNobodyIsThere) {
  sim::world w(1);
  w.host("server");
  std::optional<status> refused;
  std::optional<status> lost;
  w.host("client").spawn(connect_into("10.0.0.1:1", refused));
  w.host("client").spawn(connect_into("10.0.0.99:1", lost));
  w.run();
  EXPECT_EQ(*refused, status::unavailable("connection refused: no process listens on 10.0.0.1:1"));
  EXPECT_EQ(lost->code(), status_code::unavailable);
  EXPECT_NE(lost->message().find("cannot connect to 10.0.0.99:1"), std::string_view::npos);
}

TEST(SimNetwork, LoopbackStaysOnItsHost) {
  sim::world w(1);
  w.host("server").spawn(serve(1));
  std::optional<status> elsewhere;
  w.host("client").spawn(connect_into("127.0.0.1:50051", elsewhere));
  std::optional<status> here;
  w.host("server").spawn(connect_into("127.0.0.1:50051", here));
  w.run();
  EXPECT_EQ(elsewhere->code(), status_code::unavailable);
  EXPECT_TRUE(here->ok());
}

task<> listen_and_never_accept(int backlog, duration how_long) {
  const listen_options options{.backlog = backlog};
  listener l = listener::open(address::parse("0.0.0.0:1").value(), options).value();
  co_await sleep_for(how_long);  // sleeps on purpose: virtual time
  co_await l.close();
}

TEST(SimNetwork, AFullBacklogLetsConnectsWaitAndThenFail) {
  sim::world w(1);
  w.host("server").spawn(listen_and_never_accept(2, 1h));
  std::vector<std::optional<status>> outcomes(3);
  for (auto& o : outcomes) w.host("client").spawn(connect_into(w.address_of("server") + ":1", o));
  w.run_for(1s);
  int connected = 0;
  for (const auto& o : outcomes) connected += o && o->ok();
  EXPECT_EQ(connected, 2);
  w.run_for(1min);
  for (const auto& o : outcomes) EXPECT_TRUE(o->ok() || o->code() == status_code::unavailable) << *o;
}

task<> send_much(std::string where, std::size_t bytes, bool& done) {
  result<stream> s = co_await stream::connect(address::parse(where).value());
  const std::string text = pattern(bytes, 1);
  const status sent = co_await write_text(*s, text);
  done = sent.ok();
}

task<> take_after(duration how_long, std::size_t& got) {
  listener l = listener::open(address::parse("0.0.0.0:1").value()).value();
  stream s = (co_await l.accept()).value();
  co_await sleep_for(how_long);  // sleeps on purpose: virtual time
  std::vector<std::uint8_t> buffer(64 * 1024);
  for (;;) {
    const result<std::size_t> n = co_await s.read(buffer);
    if (!n.ok() || *n == 0) break;
    got += *n;
  }
  co_await l.close();
}

TEST(SimNetwork, ASocketHoldsSoMuchAndNoMore) {
  for (const std::size_t bytes : {10'000u, 10'001u}) {
    sim::world w(1, sim::world_options{.socket_buffer = 10'000});
    std::size_t got = 0;
    bool done = false;
    w.host("server").spawn(take_after(1h, got));
    w.host("client").spawn(send_much(w.address_of("server") + ":1", bytes, done));
    w.run_for(30min);
    EXPECT_EQ(done, bytes <= 10'000);
    w.run();
    EXPECT_TRUE(done);
    EXPECT_EQ(got, bytes);
  }
}

TEST(SimNetwork, MovesGigabytesASecondOfVirtualTime) {
  sim::world w(1);
  std::size_t got = 0;
  bool done = false;
  w.host("server").spawn(take_after(0s, got));
  w.host("client").spawn(send_much(w.address_of("server") + ":1", 64 << 20, done));
  const time_point start = w.now();
  w.run();
  EXPECT_EQ(got, std::size_t{64} << 20);
  EXPECT_LT(w.now() - start, 100ms);
}

task<> write_later(std::string where, duration later) {
  stream s = (co_await stream::connect(address::parse(where).value())).value();
  co_await sleep_for(later);  // sleeps on purpose: virtual time
  const status sent = co_await write_text(s, "x");
  EXPECT_TRUE(sent.ok());
}
task<> sleep_behind_a_read(duration& slept) {
  listener l = listener::open(address::parse("0.0.0.0:1").value()).value();
  stream s = (co_await l.accept()).value();
  const std::string text = co_await read_text(s, 1);
  EXPECT_EQ(text, "x");
  const time_point woken = coro::this_executor().now();
  co_await sleep_for(10s);  // sleeps on purpose: virtual time
  slept = coro::this_executor().now() - woken;
  co_await l.close();
}
TEST(SimNetwork, ASleepBehindALongWaitBeginsWhenTheWaitEnded) {
  sim::world w(1);
  duration slept{};
  const time_point began = w.now();
  w.host("server").spawn(sleep_behind_a_read(slept));
  w.host("client").spawn(write_later(w.address_of("server") + ":1", 1h));
  w.run();
  EXPECT_EQ(slept, 10s);
  EXPECT_GT(w.now() - began, 1h + 10s);
}

task<> connect_and_stay(std::string where) {
  result<stream> s = co_await stream::connect(address::parse(where).value());
  std::vector<std::uint8_t> buffer(1);
  const result<std::size_t> n = co_await s->read(buffer);
  EXPECT_FALSE(n.ok());
}

TEST(SimNetwork, TheWorldsEndStopsWhoeverWaits) {
  std::optional<sim::world> w(std::in_place, 1);
  w->host("server").spawn(serve(2));
  w->host("client").spawn(connect_and_stay(w->address_of("server") + ":50051"));
  w->run();
  w.reset();
}

}  // namespace
}  // namespace coracle::net::sim_network_test
