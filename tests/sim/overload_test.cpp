// A server that gets more calls than it can serve, with server_options::protect() and without.
#include "support/certificates.hpp"
#include "support/echo_service.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/services/health_service.hpp"
#include "grpc/health/v1/health.coracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::overload_test {
namespace {

using namespace std::chrono_literals;

// Each call takes 1 ms of a dependency that does one after the other, also for clients that have gone: 1,000
// calls a second are its capacity.
class busy_service final : public echo_service {
 public:
  duration work = 1ms;
  int begun = 0;

  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    ++begun;
    const time_point now = coro::this_executor().now();
    free_at_ = std::max(now, free_at_) + work;
    co_await sleep_for(free_at_ - now);
    co_return request;
  }

 private:
  time_point free_at_{};
};

struct tally {
  int offered = 0;
  int ok = 0;
  int unavailable = 0;
  int deadline_exceeded = 0;
  int told_when_to_retry = 0;
  int told_not_to_retry = 0;
};

class overload : public ::testing::Test {
 protected:
  void serve(bool protects, const server_credentials& by = insecure()) {
    server_options options;
    options.max_criticality = criticality::critical_plus;
    if (protects) options.protect();
    server_.emplace(world_.host("server"), options);
    server_->add(service_);
    server_->add(health_);
    ASSERT_EQ(server_->listen("0.0.0.0:50051", by), status());
    channels_ = connect(clients_, 4);
  }
  static task<> call(const channel& to, call_options options, bool counts, tally& t) {
    const echo_stub stub(to);
    const echo::Text request;
    auto one = stub.Say(request, options);
    const auto reply = co_await one;
    if (!counts) co_return;
    ++t.offered;
    t.ok += reply.ok();
    t.unavailable += reply.status().code() == status_code::unavailable;
    t.deadline_exceeded += reply.status().code() == status_code::deadline_exceeded;
  }
  using channels = std::vector<std::unique_ptr<channel>>;
  [[nodiscard]] channels connect(runtime& from, int n, const channel_credentials& by = insecure()) {
    channels made;
    for (int i = 0; i < n; ++i)
      made.push_back(std::make_unique<channel>(from, world_.address_of("server") + ":50051", by, options_));
    return made;
  }
  // `load` calls a millisecond, for `time`; those of the last `measured` count.
  static task<> offer_from(runtime& from, const channels& by, double load, duration time, duration measured,
                           call_options options, tally& t) {
    const duration gap =
        std::chrono::duration_cast<duration>(std::chrono::duration<double, std::milli>(1 / load));
    const time_point end = coro::this_executor().now() + time;
    for (std::size_t i = 0; coro::this_executor().now() < end; ++i) {
      const bool counts = coro::this_executor().now() >= end - measured;
      from.spawn(call(*by[i % by.size()], options, counts, t));
      co_await sleep_for(gap);
    }
  }
  task<> offer(double load, duration time, duration measured, call_options options, tally& t) {
    return offer_from(clients_, channels_, load, time, measured, options, t);
  }
  // Clients on hosts of their own.
  struct client {
    runtime& on;
    channels connections;
    tally t{};
  };
  using group = std::vector<std::unique_ptr<client>>;
  [[nodiscard]] group make_group(const std::string& name, int n, const channel_credentials& by = insecure()) {
    group made;
    for (int i = 0; i < n; ++i) {
      runtime& on = world_.host(name + "-" + std::to_string(i));
      made.push_back(std::make_unique<client>(client{on, connect(on, 1, by)}));
    }
    return made;
  }
  // Each client offers about `load` for 5 s. Not just as much, because calls that come in step with others
  // meet the same line each time.
  void begin_offers(group& of, double load) {
    double share = 0.97;
    for (const auto& c : of) {
      c->on.spawn(offer_from(c->on, c->connections, load * share, 5s, 2s, within(200ms), c->t));
      share += 0.06 / static_cast<double>(of.size());
      world_.run_for(1700us);
    }
  }
  static int all_ok(const group& of) {
    int ok = 0;
    for (const auto& c : of) ok += c->t.ok;
    return ok;
  }
  // What came in time of what a dependency that is always busy can do.
  double goodput(double load) {
    tally t;
    sync_wait(clients_, offer(load, 5s, 2s, within(200ms), t));
    world_.run_for(2s);
    return static_cast<double>(t.ok) / 2000;
  }

  sim::world world_{5};
  runtime& clients_ = world_.host("client");
  busy_service service_;
  health_service health_;
  channel_options options_;
  std::optional<server> server_;
  channels channels_;
};

TEST_F(overload, ItKeepsItsGoodputAtThreeTimesItsCapacity) {
  serve(true);
  const double peak = goodput(0.95);
  EXPECT_GT(peak, 0.94);
  EXPECT_GE(goodput(3), 0.9 * peak);
}

TEST_F(overload, WithoutProtectionItsGoodputCollapses) {
  serve(false);
  EXPECT_GT(goodput(0.95), 0.94);
  EXPECT_LT(goodput(3), 0.1);
}

// What a handler finds is not there has taken as long as what is.
TEST_F(overload, AMethodThatFindsNothingIsNoSlowMethod) {
  class empty_service final : public echo_service {
    reply<echo::Text> Say(server_context&, const echo::Text&) override {
      co_await sleep_for(5ms);
      co_return status::not_found("it is not there");
    }
  } empty;
  server_options options;
  options.protect();
  server_.emplace(world_.host("server"), options);
  server_->add(empty);
  ASSERT_EQ(server_->listen("0.0.0.0:50051", insecure()), status());
  channels_ = connect(clients_, 1);
  tally t;
  sync_wait(clients_, offer(6, 3s, 1s, within(1s), t));
  EXPECT_EQ(t.unavailable, 0);
  EXPECT_GE(sync_wait(clients_, server_->snapshot()).concurrency_limit, 30u) << "which they need";
  server_.reset();
}

TEST_F(overload, WithinItsCapacityItRejectsNoCall) {
  serve(true);
  tally t;
  sync_wait(clients_, offer(0.8, 5s, 5s, within(1s), t));
  world_.run_for(2s);
  EXPECT_GT(t.offered, 3900);
  EXPECT_EQ(t.ok, t.offered);
}

TEST_F(overload, ItRecoversAtOnce) {
  serve(true);
  goodput(3);
  tally t;
  sync_wait(clients_, offer(0.8, 1s, 1s, within(200ms), t));
  world_.run_for(1s);
  EXPECT_EQ(t.ok, t.offered);
}

TEST_F(overload, CallsOfLowerCriticalityAreRejectedFirst) {
  serve(true);
  call_options batch = within(200ms);
  batch.criticality = criticality::sheddable;
  tally usual;
  tally least;
  clients_.spawn(offer(2, 5s, 2s, batch, least));
  sync_wait(clients_, offer(0.8, 5s, 2s, within(200ms), usual));
  world_.run_for(2s);
  EXPECT_GT(usual.ok, usual.offered * 98 / 100);
  EXPECT_GT(least.ok, least.offered / 20) << "they get the rest";
  EXPECT_LT(least.ok, least.offered / 5);
  EXPECT_GT(least.unavailable, least.offered / 2);
}

// Each of the others asks for less than an eleventh of the capacity.
TEST_F(overload, AGreedyClientWithManyConnectionsTakesNothingFromModestOnes) {
  serve(true);
  group modest = make_group("modest", 10);
  channels_ = connect(clients_, 50);
  tally greedy;
  clients_.spawn(offer(2.4, 5s, 2s, within(200ms), greedy));
  begin_offers(modest, 0.06);
  world_.run_for(6s);
  for (const auto& c : modest) {
    EXPECT_GE(c->t.offered, 110);
    EXPECT_GE(c->t.ok, c->t.offered * 95 / 100);
  }
  EXPECT_GE(greedy.ok + all_ok(modest), 1800) << "the greedy one gets the rest: " << greedy.ok;
}

// Each of them asks for more than four times its share, and each of the others for less than its own.
TEST_F(overload, AGroupOfGreedyClientsTakesNothingFromAnotherGroup) {
  serve(true);
  group greedy = make_group("greedy", 20);
  group modest = make_group("modest", 10);
  begin_offers(greedy, 0.15);
  begin_offers(modest, 0.028);
  world_.run_for(6s);
  for (const auto& c : modest) {
    EXPECT_GE(c->t.offered, 50);
    EXPECT_GE(c->t.ok, c->t.offered * 95 / 100);
  }
  EXPECT_GE(all_ok(greedy) + all_ok(modest), 1800) << "the greedy ones get the rest: " << all_ok(greedy);
}

// By their addresses they would be ten of eleven clients.
TEST_F(overload, AGroupWithOneIdentityIsOneClient) {
  const duration behind =
      std::chrono::duration_cast<duration>(std::chrono::system_clock::now() - clients_.at(0).wall_now());
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  serve(true, credentials);
  const auto as = [](const char* identity) {
    tls::client_options o = trusting("ca");
    o.certificate = pair_of(identity);
    o.target_name = "localhost";
    return o;
  };
  group replicas = make_group("web", 10, as("web"));
  group one = make_group("ada", 1, as("client"));
  // The certificates are of today.
  for (std::string host : {"server", "ada-0"}) world_.jump_wall_clock(host, behind);
  for (int i = 0; i < 10; ++i) world_.jump_wall_clock("web-" + std::to_string(i), behind);
  begin_offers(replicas, 0.3);
  begin_offers(one, 0.37);
  world_.run_for(6s);
  EXPECT_GE(one[0]->t.offered, 600);
  EXPECT_GE(one[0]->t.ok, one[0]->t.offered * 95 / 100);
  EXPECT_GE(one[0]->t.ok + all_ok(replicas), 1800) << "the replicas get the rest: " << all_ok(replicas);
}

// They are told apart by their hosts, not by their connections.
TEST_F(overload, ClientsThatAskForMoreThanTheirShareGetTheSame) {
  serve(true);
  runtime& other = world_.host("other");
  const channels one = connect(other, 1);
  channels_ = connect(clients_, 20);
  tally many;
  tally few;
  clients_.spawn(offer(4, 5s, 2s, within(200ms), many));
  other.spawn(offer_from(other, one, 1, 5s, 2s, within(200ms), few));
  world_.run_for(6s);
  EXPECT_NEAR(static_cast<double>(few.ok) / many.ok, 1, 0.15);
}

TEST_F(overload, HealthChecksAreAnswered) {
  serve(true);
  tally t;
  clients_.spawn(offer(5, 3s, 1s, within(200ms), t));
  const auto check = [](const channel& to) -> task<int> {
    const grpc::health::v1::rpc::Health::stub stub(to);
    int serving = 0;
    for (int i = 0; i < 100; ++i) {
      co_await sleep_for(20ms);
      const grpc::health::v1::HealthCheckRequest request;
      const auto reply = co_await stub.Check(request);
      serving += reply.ok();
    }
    co_return serving;
  };
  EXPECT_EQ(sync_wait(clients_, check(*channels_[0])), 100);
  world_.run_for(3s);
  EXPECT_GT(t.unavailable, 0);
}

// Calls that could not be answered in time are not begun, once it is known how long they take.
TEST_F(overload, CallsWithoutEnoughTimeDoNotReachTheirHandler) {
  serve(true);
  service_.work = 50ms;
  tally t;
  sync_wait(clients_, offer(0.015, 10s, 1s, within(1s), t));
  world_.run_for(1s);
  const int before = service_.begun;
  tally late;
  sync_wait(clients_, offer(0.1, 1s, 1s, within(30ms), late));
  world_.run_for(1s);
  EXPECT_EQ(late.deadline_exceeded, late.offered);
  EXPECT_LE(service_.begun - before, 12) << "some are tried";
}

// A stream is no measure of latency and has no part in the limit, however many there are.
TEST_F(overload, StreamsHoldNoPlace) {
  serve(true);
  const auto run = [](const channel& to, int& answered) -> task<> {
    const echo_stub stub(to);
    auto chat = stub.Chat();
    echo::Text text;
    for (int i = 0; i < 20; ++i) {
      if (const status sent = co_await chat.write(text); !sent.ok()) break;
      const auto read = co_await chat.read(text);
      answered += read.ok() && *read;
      co_await sleep_for(200ms);
    }
    co_await chat.writes_done();
    while ((co_await chat.read(text)).ok()) break;
    static_cast<void>(co_await chat.finish());
  };
  int answered = 0;
  for (std::size_t i = 0; i < 200; ++i) clients_.spawn(run(*channels_[i % channels_.size()], answered));
  tally t;
  sync_wait(clients_, offer(0.8, 5s, 4s, within(200ms), t));
  world_.run_for(2s);
  EXPECT_EQ(answered, 200 * 20);
  EXPECT_EQ(t.ok, t.offered);
  const server_snapshot now = sync_wait(clients_, server_->snapshot());
  EXPECT_EQ(now.calls_rejected, 0u);
  EXPECT_EQ(now.calls_limited, 0u);
  EXPECT_GE(now.concurrency_limit, 20u);
}

}  // namespace
}  // namespace coracle::testing_support::overload_test
