// Lookups that end early, and processes that have run out of descriptors.
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "net/dns/dns_channel.hpp"
#include "runtime/backend.hpp"
#include "support/limited_process.hpp"
#include "unit/net/dns_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace coracle::net::dns_ends_test {
namespace {

using namespace std::chrono_literals;

class DnsEnds : public dns_fixture {};
INSTANTIATE_TEST_SUITE_P(On, DnsEnds, testing_support::kernel_kinds, DnsEnds::case_name);

task<> into(dns_source& names, std::string name, std::optional<status>& outcome) {
  const answer a = co_await names.resolve_name(std::move(name), 80);
  outcome = a.status();
}

task<status> late(dns_settings settings, duration limit) {
  dns_source names(*loop::current(), std::move(settings));
  task<answer> asking = names.resolve_name("silent.example", 80);
  const answer a = co_await with_timeout(limit, std::move(asking));
  co_return a.status();
}
TEST_P(DnsEnds, TheDeadlineEndsTheWait) {
  const name_server server({{"silent.example", zone_entry().silence()}});
  EXPECT_EQ(run(late(asking(server), 10ms)),
            status::deadline_exceeded("silent.example: the deadline passed before the name lookup ended"));
  EXPECT_EQ(run(late(asking(server), 0ms)).code(), status_code::deadline_exceeded);
}

// Two lookups wait, one of them forever: stopping that one does not affect the other.
task<> one_of_two_stopped(dns_settings settings, name_server& server) {
  dns_source names(*loop::current(), std::move(settings));
  scope first;
  scope second;
  std::optional<status> stopped;
  std::optional<status> answered;
  first.spawn(into(names, "silent.example", stopped));
  second.spawn(into(names, "held.example", answered));
  first.request_stop();
  co_await first.join();
  EXPECT_EQ(*stopped, status::cancelled("silent.example: the name lookup was cancelled"));
  EXPECT_FALSE(answered);
  server.release();
  co_await second.join();
  EXPECT_EQ(*answered, status());
}
TEST_P(DnsEnds, AStopEndsOneQuestionAndNoOther) {
  const std::size_t before = open_descriptors();
  {
    name_server server(
        {{"silent.example", zone_entry().silence()}, {"held.example", zone_entry().a("127.0.0.1").held()}});
    run(one_of_two_stopped(asking(server), server));
  }
  EXPECT_EQ(open_descriptors(), before);
}

// Stopped before it begins, while it is queued, and while it runs; the next lookup opens a new channel.
task<> stopped_everywhere(dns_settings settings, int count) {
  dns_source names(*loop::current(), std::move(settings));
  std::vector<std::optional<status>> outcomes(static_cast<std::size_t>(count));
  for (int round = 0; round < 3; ++round) {
    scope work;
    if (round == 0) work.request_stop();
    for (std::optional<status>& o : outcomes) work.spawn(into(names, "silent.example", o));
    if (round == 2) co_await sleep_for(1ms);  // so that c-ares' sockets are watched
    work.request_stop();
    co_await work.join();
    for (std::optional<status>& o : outcomes)
      EXPECT_EQ(*std::exchange(o, std::nullopt),
                status::cancelled("silent.example: the name lookup was cancelled"));
  }
  const answer a = co_await names.resolve_name("good.example", 80);
  EXPECT_TRUE(a.ok()) << a.status();
}
TEST_P(DnsEnds, AStopReachesThoseInLine) {
  const std::size_t before = open_descriptors();
  {
    const name_server server(
        {{"silent.example", zone_entry().silence()}, {"good.example", zone_entry().a("127.0.0.1")}});
    dns_settings settings = asking(server);
    settings.timeout_ms = 100;  // the questions before may have filled the server's socket
    run(stopped_everywhere(settings, static_cast<int>(dns_channel::concurrent_max) + 20));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(DnsEnds, StoppingTheRuntimeEndsQuestions) {
  const name_server server({{"silent.example", zone_entry().silence()}});
  runtime& on = rt();
  struct program {
    static task<> ask(dns_settings settings, std::optional<status>& outcome) {
      dns_source names(*loop::current(), std::move(settings));
      co_await into(names, "silent.example", outcome);
    }
    static task<> stop(runtime& which) {
      which.stop();
      co_return;
    }
  };
  std::optional<status> outcome;
  on.spawn(program::ask(asking(server), outcome));
  on.spawn(program::stop(on));
  on.run();
  EXPECT_EQ(outcome->code(), status_code::cancelled);
}

// The longest path: both families, each truncated and then fetched over TCP.
task<> stopped_at_turn(dns_settings settings, int turns, int& answered) {
  const std::uint64_t in_flight = loop::current()->io().stats().in_flight;
  dns_source names(*loop::current(), std::move(settings));
  scope work;
  std::optional<status> outcome;
  work.spawn(into(names, "large.example", outcome));
  for (int i = 0; i < turns; ++i) co_await sleep_for(0s);
  work.request_stop();
  co_await work.join();
  if (outcome->ok()) ++answered;
  else EXPECT_EQ(outcome->code(), status_code::cancelled) << *outcome;
  EXPECT_EQ(loop::current()->io().stats().in_flight, in_flight);
}
TEST_P(DnsEnds, AStopAtAnyTurnLeavesNothingOpen) {
  const std::size_t before = open_descriptors();
  {
    const name_server server({{"large.example", zone_entry().truncated().a("127.0.0.1").aaaa("::1")}});
    int answered = 0;
    // c-ares 1.34 receives the response over TCP only after 40 ms, which are many turns.
    for (int turns = 0; answered < 3 && turns < 10'000'000; turns += 1 + turns / (turns < 10'000 ? 50 : 4))
      run(stopped_at_turn(asking(server), turns, answered));
    EXPECT_EQ(answered, 3) << "so late that the answer was there";
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(DnsEnds, AResolverThatIsAskedMayNotBeDestroyed) {
  struct program {
    static task<> run() {
      dns_settings settings;
      settings.servers = "127.0.0.1:1";
      settings.timeout_ms = 60'000;
      auto* names = new dns_source(*loop::current(), settings);
      scope work;
      std::optional<status> outcome;
      work.spawn(into(*names, "any.example", outcome));
      delete names;
      co_await work.join();
    }
  };
  EXPECT_DEATH(
      {
        runtime of_the_child(runtime_options{.backend = backend_choice::epoll});
        sync_wait(of_the_child, program::run());
      },
      "a resolver was destroyed while a task waits for it");
}

TEST_P(DnsEnds, WithoutDescriptorsTheQuestionFailsAndNothingElse) {
  if (testing_support::sanitizer_takes_descriptors())
    GTEST_SKIP() << "the sanitizer itself cannot do without";
  const name_server server({{"good.example", zone_entry().a("127.0.0.1")}});
  dns_settings settings = asking(server);
  settings.timeout_ms = 20;
  settings.tries = 2;
  for (const int more : {0, 1}) {  // none for c-ares' socket, then none for the loop's duplicate of it
    std::optional<answer> got;
    {
      const testing_support::descriptor_limit scarce(more);
      got.emplace(ask(settings, "good.example"));
    }
    EXPECT_EQ(got->status().code(), status_code::unavailable) << got->status();
    EXPECT_TRUE(ask(asking(server), "good.example").ok());
  }
}

}  // namespace
}  // namespace coracle::net::dns_ends_test
