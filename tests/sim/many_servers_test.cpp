// Balancing policies over 1,000 servers that come, go, slow down and lie about their load, in virtual time.
#include "support/echo_service.hpp"

#include "coracle/client/balancing.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace coracle::testing_support::many_servers_test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t servers_all = 1000;
constexpr std::uint16_t first_port = 10'000;

// What a server does from now on.
struct behaviour {
  duration takes = 1ms;
  bool fails = false;
  double reported_utilization = 0.5;
};

class one_server final : public echo::rpc::Echo::service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    ++calls;
    connections.insert(context.peer().port());
    co_await sleep_for(does.takes);
    context.load().set_cpu_utilization(does.reported_utilization).set_qps(100);
    if (does.fails) co_return status::internal("it always fails");
    co_return request;
  }
  behaviour does;
  int calls = 0;
  std::set<std::uint16_t> connections;  // that had calls, ever
};

// 1,000 servers on ten hosts, and a client whose list of servers changes.
class many_servers {
 public:
  explicit many_servers(balancing policy, std::size_t listed = servers_all, std::uint64_t seed = 1)
      : world_(seed), names_(std::make_shared<client::manual_resolver>(client::resolution())) {
    for (std::size_t i = 0; i < servers_all; ++i) {
      const std::string host = "host" + std::to_string(i % 10);
      if (i < 10) hosts_.push_back(&world_.host(host));
      services.push_back(std::make_unique<one_server>());
      servers_.emplace_back();
      arrive(i, i + 1);
      addresses_.push_back(net::address::parse(world_.address_of(host) + port_of(i)).value());
    }
    channel_options options;
    options.balance = std::move(policy);
    options.resolver = names_;
    channel_.emplace(client_, "many", insecure(), options);
    list(0, listed);
  }
  void arrive(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      servers_[i] = std::make_unique<server>(*hosts_[i % 10]);
      servers_[i]->add(*services[i]);
      EXPECT_EQ(servers_[i]->listen("0.0.0.0" + port_of(i), insecure()), status());
    }
  }
  // Their calls end, and their connections are closed; the name has them still.
  void leave(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      sync_wait(client_, servers_[i]->drain(1min));
      servers_[i].reset();
    }
  }
  // The name has the servers from `first` to `end`.
  void list(std::size_t first, std::size_t end) {
    client::resolution found;
    for (std::size_t i = first; i < end; ++i) found.add(addresses_[i]);
    names_->set(std::move(found));
  }

  // Makes calls from so many callers at once, and returns how many failed.
  int call(int callers, int each, bool by_user = false) {
    for (const auto& s : services) s->calls = 0;
    return sync_wait(client_, calls(echo_stub(*channel_), callers, each, by_user));
  }
  void wait(duration d) { sync_wait(client_, pause(d)); }
  // The same while some servers leave, one after the other.
  int call_while_they_leave(std::size_t first, std::size_t end, int callers, int each) {
    for (const auto& s : services) s->calls = 0;
    const int failed = sync_wait(client_, calls_and_leaving(echo_stub(*channel_), callers, each, first, end));
    for (std::size_t i = first; i < end; ++i) servers_[i].reset();
    return failed;
  }
  [[nodiscard]] std::size_t connections_ever(std::size_t first = 0, std::size_t end = servers_all) const {
    std::size_t n = 0;
    for (std::size_t i = first; i < end; ++i) n += services[i]->connections.size();
    return n;
  }
  // Of servers that are there.
  [[nodiscard]] std::size_t connections_open() {
    std::size_t n = 0;
    for (const auto& s : servers_)
      if (s) n += sync_wait(client_, open_of(*s));
    return n;
  }
  [[nodiscard]] std::vector<int> calls_by_server() const {
    std::vector<int> all;
    for (const auto& s : services) all.push_back(s->calls);
    return all;
  }
  void end_channel() { channel_.reset(); }
  [[nodiscard]] double mean_calls(std::size_t first, std::size_t end) const {
    int sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += services[i]->calls;
    return sum / static_cast<double>(end - first);
  }
  [[nodiscard]] std::size_t used() const {
    return static_cast<std::size_t>(
        std::count_if(services.begin(), services.end(), [](const auto& s) { return s->calls > 0; }));
  }

  std::vector<std::unique_ptr<one_server>> services;

 private:
  static task<> pause(duration d) { co_await sleep_for(d); }
  static task<int> caller(echo_stub stub, int number, int each, bool by_user) {
    int failed = 0;
    const echo::Text request;
    for (int i = 0; i < each; ++i) {
      call_options options;
      options.wait_for_ready = true;
      if (by_user) options.metadata.add("user", std::to_string(number));
      const auto reply = co_await stub.Say(request, options);
      failed += !reply.ok();
    }
    co_return failed;
  }
  static task<int> calls(echo_stub stub, int callers, int each, bool by_user) {
    std::vector<task<int>> all;
    for (int i = 0; i < callers; ++i) all.push_back(caller(stub, i, each, by_user));
    int failed = 0;
    for (const int n : co_await when_all(std::move(all))) failed += n;
    co_return failed;
  }

  static task<> drain(server& one) { co_await one.drain(1min); }
  task<int> calls_and_leaving(echo_stub stub, int callers, int each, std::size_t first, std::size_t end) {
    scope leaving{co_await coro::this_environment()};
    task<int> made = calls(std::move(stub), callers, each, false);
    leaving.spawn(leave_each(first, end));
    const int failed = co_await std::move(made);
    co_await leaving.join();
    co_return failed;
  }
  task<> leave_each(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) co_await drain(*servers_[i]);
  }
  static task<std::size_t> open_of(server& one) {
    const server_snapshot now = co_await one.snapshot();
    co_return now.connections.size();
  }
  static std::string port_of(std::size_t i) { return ":" + std::to_string(first_port + i); }

  sim::world world_;
  runtime& client_ = world_.host("client");
  std::vector<runtime*> hosts_;
  std::vector<std::unique_ptr<server>> servers_;
  std::vector<net::address> addresses_;
  std::shared_ptr<client::manual_resolver> names_;
  std::optional<channel> channel_;
};

TEST(ManyServers, RoundRobinGivesEachTheSame) {
  many_servers m(balancing::round_robin());
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 200), 0);
  for (const auto& s : m.services) EXPECT_EQ(s->calls, 4);
}

// Servers leave the list, and return: no call fails.
TEST(ManyServers, NoCallFailsWhileServersComeAndGo) {
  for (const balancing& policy :
       {balancing::round_robin(), balancing::least_request(), balancing::ring_hash()}) {
    many_servers m(policy);
    EXPECT_EQ(m.call(50, 10), 0);
    m.list(100, 900);
    EXPECT_EQ(m.call(50, 10), 0);
    m.wait(1s);
    EXPECT_EQ(m.call(50, 10), 0);
    EXPECT_EQ(m.mean_calls(0, 100), 0);
    EXPECT_EQ(m.mean_calls(900, 1000), 0);
    m.list(0, servers_all);
    EXPECT_EQ(m.call(50, 10), 0);
  }
}

TEST(ManyServers, LeastRequestSparesTheSlow) {
  many_servers m(balancing::least_request());
  for (std::size_t i = 0; i < 100; ++i) m.services[i]->does.takes = 100ms;
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(400, 20), 0);
  EXPECT_LT(m.mean_calls(0, 100), 0.8 * m.mean_calls(100, servers_all));
}

// One half is three times as busy as the other at the same rate, and one server claims to be idle.
TEST(ManyServers, WeightedRoundRobinFollowsTheLoadAndBoundsALie) {
  many_servers m(balancing::weighted_round_robin({.blackout_period = 0s}));
  for (std::size_t i = 0; i < servers_all; ++i)
    m.services[i]->does.reported_utilization = i < 500 ? 0.75 : 0.25;
  m.services[0]->does.reported_utilization = 1e-9;
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 100), 0);  // each server has reported
  m.wait(2s);
  EXPECT_EQ(m.call(20, 400), 0);
  EXPECT_NEAR(m.mean_calls(500, servers_all) / m.mean_calls(1, 500), 3, 0.3);
  EXPECT_LT(m.services[0]->calls, 8000 / 20);
}

// Half of the servers leave and return: nothing that they reported before counts.
TEST(ManyServers, WeightedRoundRobinLosesNoCallWhenServersLeaveAndReturn) {
  many_servers m(balancing::weighted_round_robin({.blackout_period = 0s}));
  for (std::size_t i = 0; i < servers_all; ++i)
    m.services[i]->does.reported_utilization = i < 500 ? 0.75 : 0.25;
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 100), 0);
  m.wait(2s);
  EXPECT_EQ(m.call_while_they_leave(900, servers_all, 20, 200), 0);
  EXPECT_EQ(m.call(20, 200), 0);
  EXPECT_EQ(m.mean_calls(900, servers_all), 0);
  EXPECT_NEAR(m.mean_calls(500, 900) / m.mean_calls(0, 500), 3, 0.3);
  // Those that return are as busy as the first half now.
  for (std::size_t i = 900; i < servers_all; ++i) m.services[i]->does.reported_utilization = 0.75;
  m.arrive(900, servers_all);
  m.wait(3min);  // the longest pause between attempts to connect
  EXPECT_EQ(m.call(20, 200), 0);
  m.wait(2s);
  EXPECT_EQ(m.call(20, 400), 0);
  EXPECT_NEAR(m.mean_calls(500, 900) / m.mean_calls(900, servers_all), 3, 0.3);
  EXPECT_EQ(m.connections_open(), servers_all);
  EXPECT_EQ(m.connections_ever(), servers_all + 100);
}

TEST(ManyServers, PickFirstHasOneConnectionAndStaysWithItsServer) {
  many_servers m(balancing::pick_first());
  EXPECT_EQ(m.call(20, 50), 0);
  EXPECT_EQ(m.services[0]->calls, 1000);
  EXPECT_EQ(m.connections_open(), 1u);
  // Others leave and join the list: the connection stays, as long as its server is listed.
  m.list(0, 500);
  EXPECT_EQ(m.call(20, 10), 0);
  m.list(0, servers_all);
  EXPECT_EQ(m.call(20, 10), 0);
  EXPECT_EQ(m.services[0]->calls, 200);
  EXPECT_EQ(m.connections_ever(), 1u);
  // The first 900 leave, that of the calls during them.
  EXPECT_EQ(m.call_while_they_leave(0, 1, 20, 50), 0);
  m.leave(1, 900);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 50), 0);
  EXPECT_EQ(m.services[900]->calls, 1000);
  EXPECT_EQ(m.connections_open(), 1u);
  // They are back, and it stays where it is.
  m.arrive(0, 900);
  m.wait(3min);
  EXPECT_EQ(m.call(20, 50), 0);
  EXPECT_EQ(m.services[900]->calls, 1000);
  EXPECT_EQ(m.connections_open(), 1u);
  m.list(0, 900);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 50), 0);
  EXPECT_EQ(m.services[0]->calls, 1000);
  m.end_channel();
  m.wait(1min);
  EXPECT_EQ(m.connections_open(), 0u);
}

// A shuffled list: each server is as probable as the others, whatever the order of the list.
TEST(ManyServers, PickFirstThatShufflesTakesAServerByItsSeed) {
  std::set<std::vector<int>> seen;
  for (const std::uint64_t seed : {1u, 2u, 1u}) {
    many_servers m(balancing::pick_first(true), servers_all, seed);
    EXPECT_EQ(m.call(10, 10), 0);
    EXPECT_EQ(m.used(), 1u);
    EXPECT_EQ(m.services[0]->calls, 0);
    seen.insert(m.calls_by_server());
  }
  EXPECT_EQ(seen.size(), 2u);
}

// 900 servers are there for long when 100 join: these have a tenth of a share at first, half of one after
// half of the window, and a whole one at its end.
TEST(ManyServers, SlowStartGivesThoseThatJoinTheirShareByAndBy) {
  many_servers m(balancing::round_robin({.window = 100s, .min_weight_percent = 10}), 900);
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 90), 0);
  for (std::size_t i = 0; i < 900; ++i) EXPECT_EQ(m.services[i]->calls, 2) << "all of them are as new";
  m.wait(100s);
  m.list(0, servers_all);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 400), 0);
  EXPECT_NEAR(m.mean_calls(900, servers_all) / m.mean_calls(0, 900), 0.1, 0.02);
  m.wait(49s);
  EXPECT_EQ(m.call(20, 400), 0);
  EXPECT_NEAR(m.mean_calls(900, servers_all) / m.mean_calls(0, 900), 0.5, 0.05);
  // One that loses its connection begins again.
  EXPECT_EQ(m.call_while_they_leave(0, 10, 20, 100), 0);
  m.wait(60s);
  m.arrive(0, 10);
  m.wait(3min);
  EXPECT_EQ(m.call(20, 100), 0);
  for (const auto& s : m.services) EXPECT_EQ(s->calls, 2);
  EXPECT_EQ(m.connections_open(), servers_all);
  EXPECT_EQ(m.connections_ever(), servers_all + 10);
}

// A world is its seed, also with randomness in each pick.
TEST(ManyServers, AreReplayedByTheirSeed) {
  const auto played = [](const balancing& policy, std::uint64_t seed) {
    many_servers m(policy, servers_all, seed);
    EXPECT_EQ(m.call(1, 1), 0);
    m.wait(1s);
    EXPECT_EQ(m.call(20, 50), 0);
    return m.calls_by_server();
  };
  const balancing policy = balancing::least_request(3);
  const auto first = played(policy, 5);
  EXPECT_EQ(played(policy, 5), first);
  EXPECT_NE(played(policy, 6), first);
}

TEST(ManyServers, OutlierDetectionTakesThoseOutThatFail) {
  outlier_detection_options o;
  o.interval = 5s;
  o.failure_percentage_ejection = {.threshold = 50, .minimum_hosts = 5, .request_volume = 3};
  many_servers m(balancing::outlier_detection(o, balancing::round_robin()));
  for (std::size_t i = 0; i < servers_all; i += 20) m.services[i]->does.fails = true;
  m.call(1, 1);  // connects
  m.wait(1s);
  EXPECT_EQ(m.call(20, 200), 200);
  m.wait(10s);
  EXPECT_EQ(m.call(20, 200), 0);
}

TEST(ManyServers, RingHashKeepsAUsersServerAndMovesFew) {
  many_servers m(balancing::ring_hash({.request_hash_header = "user"}));
  EXPECT_EQ(m.call(300, 5, true), 0);
  std::vector<std::size_t> with_calls;
  for (std::size_t i = 0; i < servers_all; ++i) {
    EXPECT_EQ(m.services[i]->calls % 5, 0) << "a user's calls went to several servers";
    if (m.services[i]->calls > 0) with_calls.push_back(i);
  }
  EXPECT_GT(with_calls.size(), 200u);
  m.list(0, 950);
  EXPECT_EQ(m.call(300, 5, true), 0);
  std::size_t same = 0;
  for (const std::size_t i : with_calls) same += m.services[i]->calls > 0;
  EXPECT_GT(same, with_calls.size() * 8 / 10);
}

TEST(ManyServers, ASubsetHasItsSize) {
  many_servers m(balancing::random_subsetting(20, balancing::round_robin()));
  EXPECT_EQ(m.call(1, 1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(20, 50), 0);
  EXPECT_EQ(m.used(), 20u);
}

}  // namespace
}  // namespace coracle::testing_support::many_servers_test
