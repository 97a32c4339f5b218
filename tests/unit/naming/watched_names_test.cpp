// The rules that all sources share, in simulated time.
#include "naming/watched_names.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace coracle::naming::watched_names_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

server_list list_of(const std::vector<std::string>& addresses) {
  server_list list;
  for (const std::string& a : addresses) list.servers.emplace_back(net::address::parse(a).value());
  return list;
}

server_list numbered(int from, int to) {
  std::vector<std::string> addresses;
  for (int i = from; i < to; ++i) addresses.push_back("10.0.0." + std::to_string(i) + ":1");
  return list_of(addresses);
}

// What a source does, and how long it waits before that.
struct step {
  step(duration after, server_list found) : pause(after), list(std::move(found)) {}
  step(duration after, status reason) : pause(after), failure(std::move(reason)) {}
  duration pause;
  std::optional<server_list> list;
  std::optional<status> failure;
};

struct script {
  std::vector<step> steps;
  std::size_t next = 0;
  std::vector<duration> follows;  // when follow() was called
  int made = 0;  // lists
};

class scripted_source final : public name_source {
 public:
  explicit scripted_source(script& by) : by_(by) {}
  task<status> follow(list_sink& to) override {
    by_.follows.push_back(coro::this_executor().now().time_since_epoch());
    while (by_.next < by_.steps.size()) {
      const step& s = by_.steps[by_.next++];
      co_await sleep_for(s.pause);
      if (s.failure) co_return *s.failure;
      to.changed([this, &s] {
        ++by_.made;
        return *s.list;
      });
    }
    co_await sleep_for(std::chrono::hours(1));
    co_return status::unavailable("the script is over");
  }

 private:
  script& by_;
};

class recorded_sink final : public client::resolution_sink {
 public:
  void publish(client::resolution found) override {
    std::string line = "t+" + std::to_string(elapsed()) + ":";
    for (const client::endpoint& e : found.endpoints()) line += " " + e.address().to_string();
    sizes.push_back(found.endpoints().size());
    lines.push_back(std::move(line));
  }
  void fail(const status& reason) override {
    lines.push_back("t+" + std::to_string(elapsed()) + " failed: " + std::string(reason.message()));
  }
  task<> wait_until_requested() override { co_await sleep_for(std::chrono::hours(1)); }

  time_point start{};
  std::vector<std::string> lines;
  std::vector<std::size_t> sizes;

 private:
  [[nodiscard]] long elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(coro::this_executor().now() - start).count();
  }
};

class WatchedNames : public testing::Test {
 protected:
  void run(duration d) {
    sink_.start = world_.now();
    world_.host("client").spawn(resolve(*this));
    world_.run_for(d);
  }
  static task<> resolve(WatchedNames& t) {
    watched_names names("authority", [&t](const client::target&) -> result<std::unique_ptr<name_source>> {
      if (!t.invalid_.ok()) return t.invalid_;
      return std::make_unique<scripted_source>(t.script_);
    });
    const client::target of = client::target::parse("test:///movies", {"test"}).value();
    co_await names.run(of, t.sink_);
  }

  testing_support::kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  script script_;
  status invalid_;
  recorded_sink sink_;
};

TEST_F(WatchedNames, EachListIsPublishedOnceAndLogged) {
  script_.steps = {{0s, list_of({"10.0.0.1:1", "10.0.0.2:1"})},
                   {1s, list_of({"10.0.0.1:1", "10.0.0.2:1"})},
                   {1s, list_of({"10.0.0.2:1", "10.0.0.3:1"})}};
  run(10s);
  EXPECT_THAT(sink_.lines, ElementsAre("t+0: 10.0.0.1:1 10.0.0.2:1", "t+2000: 10.0.0.2:1 10.0.0.3:1"));
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("test:///movies: 2 servers\n"),
                                 HasSubstr("test:///movies: 2 servers, 1 added, 1 removed")));
}

TEST_F(WatchedNames, AnAddressCountsOnce) {
  script_.steps = {{0s, list_of({"10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:1"})}};
  run(1s);
  EXPECT_THAT(sink_.lines, ElementsAre("t+0: 10.0.0.1:1 10.0.0.2:1"));
}

TEST_F(WatchedNames, ServersThatDisappearTogetherStayForAWhile) {
  script_.steps = {{0s, list_of({"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"})}, {1s, list_of({"10.0.0.3:1"})}};
  run(60s);
  EXPECT_THAT(sink_.lines, ElementsAre("t+0: 10.0.0.1:1 10.0.0.2:1 10.0.0.3:1",
                                       "t+1000: 10.0.0.3:1 10.0.0.1:1 10.0.0.2:1", "t+31000: 10.0.0.3:1"));
}

TEST_F(WatchedNames, AListThatIsWholeAgainKeepsEachServer) {
  const server_list whole = numbered(0, 10);
  script_.steps = {{0s, whole}, {1s, numbered(9, 10)}, {10s, whole}};
  run(120s);
  EXPECT_THAT(sink_.sizes, ElementsAre(10u, 10u, 10u));  // in another order meanwhile
}

TEST_F(WatchedNames, HalfOfTheServersMayLeaveAtOnce) {
  script_.steps = {{0s, numbered(0, 10)}, {1s, numbered(0, 5)}};
  run(5s);
  EXPECT_THAT(sink_.sizes, ElementsAre(10u, 5u));
}

TEST_F(WatchedNames, ServersThatLeaveOneByOneStayForAWhileToo) {
  for (int left = 10; left > 0; --left) script_.steps.emplace_back(1s, numbered(0, left));
  run(60s);
  ASSERT_GE(sink_.sizes.size(), 11u);
  // The sixth that leaves brings back those that left before it.
  EXPECT_THAT(std::vector<std::size_t>(sink_.sizes.begin(), sink_.sizes.begin() + 10),
              ElementsAre(10u, 9u, 8u, 7u, 6u, 5u, 10u, 10u, 10u, 10u));
  EXPECT_THAT(sink_.lines[9], HasSubstr("t+10000:"));
  EXPECT_THAT(sink_.lines[10], HasSubstr("t+32000:"));  // the first that left
  EXPECT_EQ(sink_.sizes.back(), 1u);
}

TEST_F(WatchedNames, ServersThatAreReplacedOneByOneLeaveAtOnce) {
  for (int i = 0; i <= 10; ++i) script_.steps.emplace_back(1s, numbered(i, i + 10));
  run(60s);
  EXPECT_THAT(sink_.sizes, testing::Each(10u));
  EXPECT_THAT(sink_.lines.back(), HasSubstr("t+11000: 10.0.0.10:1"));
}

TEST_F(WatchedNames, AnEmptyListReplacesNothing) {
  script_.steps = {{0s, numbered(0, 2)}, {1s, server_list()}, {100s, server_list()}, {1s, numbered(2, 4)}};
  run(200s);
  EXPECT_THAT(sink_.sizes, ElementsAre(2u, 4u, 2u));
  EXPECT_EQ(log_.text().find("no server is listed any more"),
            log_.text().rfind("no server is listed any more"));
  EXPECT_THAT(log_.text(),
              HasSubstr("test:///movies: no server is listed any more. The last 2 servers stay in use"));
}

TEST_F(WatchedNames, AnEmptyFirstListFailsCalls) {
  script_.steps = {{0s, server_list()}};
  run(1s);
  EXPECT_THAT(sink_.sizes, ElementsAre(0u));
}

TEST_F(WatchedNames, AFailureKeepsTheServersAndIsLoggedOnce) {
  script_.steps.emplace_back(0s, numbered(0, 2));
  for (int i = 0; i < 5; ++i)
    script_.steps.emplace_back(0s, status::unavailable("no answer " + std::to_string(i)));
  script_.steps.emplace_back(0s, numbered(0, 2));
  run(300s);
  EXPECT_THAT(sink_.sizes, ElementsAre(2u));
  const std::string said = log_.text();
  EXPECT_THAT(said, AllOf(HasSubstr("no answer 0. The last 2 servers stay in use"),
                          Not(HasSubstr("no answer 1")), HasSubstr("the names are available again")));
}

TEST_F(WatchedNames, TheFirstFailureReachesTheCallsAndARepeatedOneDoesNot) {
  for (int i = 0; i < 5; ++i) script_.steps.emplace_back(0s, status::unavailable("no answer"));
  run(60s);
  EXPECT_THAT(sink_.lines, ElementsAre("t+0 failed: no answer"));
}

TEST_F(WatchedNames, ThePausesGrowUpToTheirMaximum) {
  for (int i = 0; i < 30; ++i) script_.steps.emplace_back(0s, status::unavailable("no answer"));
  run(600s);
  ASSERT_GE(script_.follows.size(), 20u);
  EXPECT_LE(script_.follows.size(), 31u);
  for (std::size_t i = 1; i < script_.follows.size(); ++i) {
    const duration pause = script_.follows[i] - script_.follows[i - 1];
    EXPECT_GE(pause, 800ms) << i;
    EXPECT_LE(pause, watched_names::retry_pause_max) << i;
  }
  EXPECT_EQ(script_.follows.back() - script_.follows[script_.follows.size() - 2],
            watched_names::retry_pause_max);
}

TEST_F(WatchedNames, ASourceThatListsAndCannotFollowHasNotRecovered) {
  for (int i = 0; i < 300; ++i) {
    script_.steps.emplace_back(0s, numbered(0, 2));
    script_.steps.emplace_back(200ms, status::unavailable("no watch"));
  }
  run(300s);
  EXPECT_LE(script_.follows.size(), 20u);
  const std::string said = log_.text();
  EXPECT_EQ(said.find("no watch"), said.rfind("no watch"));
  EXPECT_THAT(said, AllOf(HasSubstr("no watch"), Not(HasSubstr("available again"))));
}

TEST_F(WatchedNames, ASourceHasRecoveredWhenItIsFollowedForAWhile) {
  script_.steps = {{0s, numbered(0, 2)}, {0s, status::unavailable("no answer")}, {0s, numbered(0, 2)}};
  run(watched_names::steady_time);
  EXPECT_THAT(log_.text(), Not(HasSubstr("available again")));
  world_.run_for(3s);  // the pause before the second attempt
  EXPECT_THAT(log_.text(), HasSubstr("available again"));
}

TEST_F(WatchedNames, AListThatDiffersShowsThatTheSourceWorks) {
  for (int i = 1; i < 20; ++i) {
    script_.steps.emplace_back(0s, numbered(0, i));
    script_.steps.emplace_back(0s, status::unavailable("no watch"));
  }
  run(60s);
  EXPECT_GE(script_.follows.size(), 20u);  // each pause is the first one
  EXPECT_THAT(log_.text(), HasSubstr("available again"));
}

TEST_F(WatchedNames, ListsInQuickSuccessionAreCollected) {
  script_.steps.emplace_back(0s, numbered(0, 1));
  for (int i = 2; i < 200; ++i) script_.steps.emplace_back(1ms, numbered(0, i));
  run(10s);
  EXPECT_LE(sink_.sizes.size(), 4u);
  EXPECT_LE(script_.made, 4);
  EXPECT_EQ(sink_.sizes.back(), 199u);
}

TEST_F(WatchedNames, TheNumberOfServersIsLimited) {
  server_list many;
  for (std::uint16_t port = 1; port <= 15'000; ++port)
    many.servers.emplace_back(net::address::ipv4({10, 0, 0, 1}, port));
  server_list others;
  for (std::uint16_t port = 20'000; port < 20'010; ++port)
    others.servers.emplace_back(net::address::ipv4({10, 0, 0, 1}, port));
  script_.steps = {{0s, many}, {1s, others}};
  run(100s);
  EXPECT_THAT(sink_.sizes, ElementsAre(10'000u, 10'000u, 10u));
  EXPECT_THAT(log_.text(), HasSubstr("15000 servers are listed, limit 10000"));
}

TEST_F(WatchedNames, AnInvalidTargetFailsWithItsReason) {
  invalid_ = status::invalid_argument("write test:///name");
  run(1s);
  EXPECT_THAT(sink_.lines, ElementsAre("t+0 failed: write test:///name"));
}

}  // namespace
}  // namespace coracle::naming::watched_names_test
