// The policies of which a control plane makes trees, over 1,000 servers in virtual time: who gets the calls,
// what happens when many servers leave and return at once, and how many connections that takes.
#include "client/balancing/cluster_manager.hpp"
#include "client/balancing/priority.hpp"
#include "client/balancing/weighted_target.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds::many_servers_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t first_port = 10'000;
constexpr int servers_all = 1000;

// As many servers as ports, on one host, which come and go together.
class place final : public generic_service {
 public:
  place(sim::world& world, const std::string& name, int servers) : host_(world.host(name)) {
    const std::string host = world.address_of(name);
    for (int i = 0; i < servers; ++i)
      addresses_.push_back(net::address::parse(host + ":" + std::to_string(first_port + i)).value());
    arrive();
  }
  replies<bytes_message> call(server_context& context, reader<bytes_message>) override {
    const std::uint16_t port = context.local().port();
    ++calls[port];
    connections.insert({port, context.peer().port()});
    co_await sleep_for(takes);
    auto out = co_await replies<bytes_message>::writer();
    co_await out.write(bytes_message());
    co_return coracle::ok;
  }
  void arrive() {
    serving_.emplace(host_);
    serving_->set_fallback(*this);
    for (const net::address& a : addresses_) EXPECT_EQ(serving_->listen(a.to_string(), insecure()), status());
  }
  // Its calls end, and its connections are closed. gone() follows, where no loop runs.
  [[nodiscard]] task<> leave() { return serving_->drain(1min); }
  void gone() { serving_.reset(); }
  [[nodiscard]] task<std::size_t> open_connections() {
    const server_snapshot now = co_await serving_->snapshot();
    co_return now.connections.size();
  }
  [[nodiscard]] client::servers_of_child servers() const {
    auto list = std::make_shared<std::vector<client::endpoint>>();
    for (const net::address& a : addresses_) list->emplace_back(a);
    return list;
  }
  [[nodiscard]] int sum() const {
    return std::accumulate(calls.begin(), calls.end(), 0,
                           [](int n, const auto& one) { return n + one.second; });
  }
  [[nodiscard]] int least() const {
    if (calls.size() < addresses_.size()) return 0;
    return std::ranges::min_element(calls, {}, [](const auto& one) { return one.second; })->second;
  }
  [[nodiscard]] int most() const {
    if (calls.empty()) return 0;
    return std::ranges::max_element(calls, {}, [](const auto& one) { return one.second; })->second;
  }

  std::map<std::uint16_t, int> calls;  // by port, since the last forget()
  std::set<std::pair<std::uint16_t, std::uint16_t>> connections;  // that had calls, ever
  duration takes = 1ms;

 private:
  runtime& host_;
  std::vector<net::address> addresses_;
  std::optional<server> serving_;
};

// Routes "/s/0" to the first cluster, and so on.
class router_by_number final : public client::call_router {
 public:
  explicit router_by_number(std::vector<std::shared_ptr<const client::routed_cluster>> to)
      : to_(std::move(to)) {}
  [[nodiscard]] bool route(std::string_view path, const metadata&, loop&, client::call_route& to,
                           client::routed_call& with) const override {
    const auto number = static_cast<std::size_t>(path.back() - '0');
    with.failure = status::unavailable("no such cluster");
    if (number >= to_.size()) return false;
    to.cluster = to_[number];
    return true;
  }

 private:
  const std::vector<std::shared_ptr<const client::routed_cluster>> to_;
};

class many_servers {
 public:
  explicit many_servers(int places_all, std::uint64_t seed = 1)
      : world_(seed), client_(world_.host("client")) {
    for (int i = 0; i < places_all; ++i)
      places.push_back(
          std::make_unique<place>(world_, "place" + std::to_string(i), servers_all / places_all));
  }
  // All calls go to this policy.
  void use(balancing policy) {
    if (!route_) route_ = std::make_shared<const client::routed_cluster>(client::routed_cluster{"all"});
    use(balancing(std::make_shared<const client::cluster_manager_config>(
            std::vector<client::cluster_manager_config::cluster>{{route_, std::move(policy)}})),
        std::vector(10, route_));
  }
  void use(balancing policy, std::vector<std::shared_ptr<const client::routed_cluster>> routes) {
    client::resolution found;
    found.routing(std::make_shared<const client::channel_routing>(client::channel_routing{
        std::move(policy), std::make_shared<const router_by_number>(std::move(routes))}));
    if (names_) return names_->set(std::move(found));
    names_ = std::make_shared<client::manual_resolver>(std::move(found));
    channel_options options;
    options.resolver = names_;
    channel_.emplace(client_, "many", insecure(), options);
  }

  // Makes calls from ten callers at once, each of which waits for ready. Returns how many failed.
  int call(int each) {
    for (const auto& p : places) p->calls.clear();
    return run(calls(generic_stub(*channel_), each));
  }
  template <class T>
  T run(task<T> t) {
    return sync_wait(client_, std::move(t));
  }
  void wait(duration d) { run(pause(d)); }
  void arrive(int first, int end) {
    for (int i = first; i < end; ++i) places[static_cast<std::size_t>(i)]->arrive();
  }
  // With some calls on the way.
  int leave_during_calls(int first, int end, int each) {
    for (const auto& p : places) p->calls.clear();
    const int failed = run(leave_meanwhile(*this, first, end, generic_stub(*channel_), each));
    for (int i = first; i < end; ++i) places[static_cast<std::size_t>(i)]->gone();
    return failed;
  }
  // One call of each caller, with something else in the middle of it.
  int call_around(const std::function<void()>& what) {
    for (const auto& p : places) p->calls.clear();
    return run(calls_around(generic_stub(*channel_), what));
  }
  [[nodiscard]] std::vector<std::map<std::uint16_t, int>> all_calls() const {
    std::vector<std::map<std::uint16_t, int>> all;
    for (const auto& p : places) all.push_back(p->calls);
    return all;
  }
  // That had calls.
  [[nodiscard]] std::size_t connections_ever() const {
    std::size_t n = 0;
    for (const auto& p : places) n += p->connections.size();
    return n;
  }
  [[nodiscard]] std::size_t connections_open() {
    std::size_t n = 0;
    for (const auto& p : places) n += run(p->open_connections());
    return n;
  }
  void end_channel() { channel_.reset(); }

  std::vector<std::unique_ptr<place>> places;

 private:
  static task<> pause(duration d) { co_await sleep_for(d); }
  static task<int> caller(generic_stub stub, int number, int each) {
    static constexpr const char* paths[] = {"/s/0", "/s/1", "/s/2", "/s/3", "/s/4",
                                            "/s/5", "/s/6", "/s/7", "/s/8", "/s/9"};
    int failed = 0;
    const bytes_message request;
    for (int i = 0; i < each; ++i) {
      call_options options;
      options.wait_for_ready = true;
      const auto reply = co_await stub.unary(paths[number], request, options);
      failed += !reply.ok();
    }
    co_return failed;
  }
  static task<int> calls(generic_stub stub, int each) {
    std::vector<task<int>> all;
    for (int i = 0; i < 10; ++i) all.push_back(caller(stub, i, each));
    int failed = 0;
    for (const int n : co_await when_all(std::move(all))) failed += n;
    co_return failed;
  }
  static task<int> later(const std::function<void()>& what) {
    co_await sleep_for(500ms);
    what();
    co_return 0;
  }
  static task<int> calls_around(generic_stub stub, const std::function<void()>& what) {
    std::vector<task<int>> all;
    all.push_back(calls(stub, 1));
    all.push_back(later(what));
    int failed = 0;
    for (const int n : co_await when_all(std::move(all))) failed += n;
    co_return failed;
  }
  static task<int> leave_each(many_servers& m, int first, int end) {
    for (int i = first; i < end; ++i) {
      co_await sleep_for(5ms);
      co_await m.places[static_cast<std::size_t>(i)]->leave();
    }
    co_return 0;
  }
  static task<int> leave_meanwhile(many_servers& m, int first, int end, generic_stub stub, int each) {
    std::vector<task<int>> all;
    all.push_back(calls(stub, each));
    all.push_back(leave_each(m, first, end));
    int failed = 0;
    for (const int n : co_await when_all(std::move(all))) failed += n;
    co_return failed;
  }

  sim::world world_;
  runtime& client_;
  std::shared_ptr<const client::routed_cluster> route_;
  std::shared_ptr<client::manual_resolver> names_;
  std::optional<channel> channel_;
};

// --- weighted_target

// Ten places with a hundred servers each, the first with the weight 1, the last with the weight 10.
balancing places_by_weight(const many_servers& m) {
  std::vector<client::weighted_target_config::target> targets;
  for (std::uint32_t i = 0; i < m.places.size(); ++i)
    targets.push_back({std::to_string(i), i + 1, balancing::round_robin(), m.places[i]->servers()});
  return balancing(std::make_shared<const client::weighted_target_config>(std::move(targets)));
}

// Of 5,500 calls a place has 100 for each unit of its weight; the standard deviation is at most 30.
TEST(ManyServersOfTrees, PlacesHaveCallsByTheirWeights) {
  many_servers m(10);
  m.use(places_by_weight(m));
  EXPECT_EQ(m.call(1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(550), 0);
  for (std::size_t i = 0; i < m.places.size(); ++i) {
    EXPECT_NEAR(m.places[i]->sum(), 100 * static_cast<int>(i + 1), 120) << i;
    EXPECT_LE(m.places[i]->most() - m.places[i]->least(), 1) << "round robin within place " << i;
  }
  EXPECT_EQ(m.connections_open(), 1000u);
}

// The two heaviest places leave, one after the other, in the middle of the calls.
TEST(ManyServersOfTrees, NoCallIsLostWhenPlacesLeaveAndTheyGetTheirShareBack) {
  many_servers m(10);
  m.use(places_by_weight(m));
  EXPECT_EQ(m.call(1), 0);
  m.wait(1s);
  EXPECT_EQ(m.leave_during_calls(8, 10, 100), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(360), 0);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(m.places[i]->sum(), 100 * static_cast<int>(i + 1), 120) << i;
  m.arrive(8, 10);
  m.wait(3min);  // the longest pause between attempts to connect
  EXPECT_EQ(m.call(550), 0);
  for (std::size_t i = 0; i < m.places.size(); ++i)
    EXPECT_NEAR(m.places[i]->sum(), 100 * static_cast<int>(i + 1), 120) << i;
  EXPECT_EQ(m.connections_open(), 1000u);
  EXPECT_LE(m.connections_ever(), 1200u) << "one for each server, and another one for those that were away";
}

// --- priority

balancing two_levels(const many_servers& m) {
  return balancing(
      std::make_shared<const client::priority_config>(std::vector<client::priority_config::level>{
          {"first", balancing::round_robin(), m.places[0]->servers()},
          {"second", balancing::round_robin(), m.places[1]->servers()}}));
}

TEST(ManyServersOfTrees, TheSecondLevelHasNoConnectionsUntilTheFirstOneIsGone) {
  many_servers m(2);
  m.use(two_levels(m));
  EXPECT_EQ(m.call(1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(100), 0);
  EXPECT_EQ(m.places[0]->least(), 2);
  EXPECT_EQ(m.places[0]->most(), 2);
  EXPECT_EQ(m.run(m.places[1]->open_connections()), 0u);

  // All 500 leave during calls.
  EXPECT_EQ(m.leave_during_calls(0, 1, 100), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(100), 0);
  EXPECT_EQ(m.places[0]->sum(), 0);
  EXPECT_EQ(m.places[1]->least(), 2);
  EXPECT_EQ(m.places[1]->most(), 2);

  // And return.
  m.arrive(0, 1);
  m.wait(3min);
  EXPECT_EQ(m.call(100), 0);
  EXPECT_EQ(m.places[0]->sum(), 1000);
  EXPECT_EQ(m.places[1]->sum(), 0);
  EXPECT_EQ(m.run(m.places[1]->open_connections()), 500u) << "kept, as the first level may fail again";
  m.wait(16min);
  EXPECT_EQ(m.run(m.places[1]->open_connections()), 0u);
  EXPECT_EQ(m.run(m.places[0]->open_connections()), 500u);
  EXPECT_EQ(m.connections_ever(), 500u + 500u + 500u);
}

// A tenth of the first level is enough for it to be used.
TEST(ManyServersOfTrees, ALevelIsUsedWhileAServerOfItWorks) {
  many_servers m(10);
  std::vector<client::weighted_target_config::target> first;
  for (std::size_t i = 0; i < 9; ++i)
    first.push_back({std::to_string(i), 1, balancing::round_robin(), m.places[i]->servers()});
  m.use(balancing(std::make_shared<const client::priority_config>(std::vector<client::priority_config::level>{
      {"first", balancing(std::make_shared<const client::weighted_target_config>(std::move(first)))},
      {"second", balancing::round_robin(), m.places[9]->servers()}})));
  EXPECT_EQ(m.call(1), 0);
  m.wait(1s);
  EXPECT_EQ(m.leave_during_calls(0, 8, 100), 0);
  EXPECT_EQ(m.call(100), 0);
  EXPECT_EQ(m.places[8]->sum(), 1000);
  EXPECT_EQ(m.places[9]->connections.size(), 0u);
  EXPECT_EQ(m.leave_during_calls(8, 9, 100), 0);
  EXPECT_EQ(m.call(100), 0);
  EXPECT_EQ(m.places[9]->sum(), 1000);
}

// --- cluster_manager

TEST(ManyServersOfTrees, EachClusterHasItsOwnCallsAndEndsWithItsLastCall) {
  many_servers m(10);
  std::vector<std::shared_ptr<const client::routed_cluster>> routes;
  const auto configure = [&](std::size_t clusters) {
    std::vector<client::cluster_manager_config::cluster> all;
    for (std::size_t i = 0; i < clusters; ++i) {
      if (i == routes.size())
        routes.push_back(std::make_shared<const client::routed_cluster>(
            client::routed_cluster{"cluster" + std::to_string(i)}));
      all.push_back({routes[i], balancing::round_robin(), m.places[i]->servers()});
    }
    routes.resize(clusters);
    m.use(balancing(std::make_shared<const client::cluster_manager_config>(std::move(all))), routes);
  };
  configure(10);
  EXPECT_EQ(m.call(1), 0);
  m.wait(1s);
  EXPECT_EQ(m.call(200), 0);
  for (const auto& p : m.places) {
    EXPECT_EQ(p->least(), 2);
    EXPECT_EQ(p->most(), 2);
  }
  EXPECT_EQ(m.connections_open(), 1000u);

  // Half of the clusters go during calls, which end well. Later ones of their callers fail, and no others.
  for (const auto& p : m.places) p->takes = 1s;
  EXPECT_EQ(m.call_around([&] { configure(5); }), 0);
  for (const auto& p : m.places) {
    EXPECT_EQ(p->sum(), 1);
    p->takes = 1ms;
  }
  m.wait(1min);
  EXPECT_EQ(m.call(200), 5 * 200);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(m.places[i]->sum(), i < 5 ? 200 : 0) << i;
    EXPECT_EQ(m.run(m.places[i]->open_connections()), i < 5 ? 100u : 0u) << i;
  }
  configure(10);
  m.wait(1s);
  EXPECT_EQ(m.call(200), 0);
  for (const auto& p : m.places) EXPECT_EQ(p->sum(), 200);
  m.end_channel();
  m.wait(1min);
  for (const auto& p : m.places) EXPECT_EQ(m.run(p->open_connections()), 0u);
}

// --- all of them

// A world is its seed: the same calls go to the same servers, and with another seed to others.
TEST(ManyServersOfTrees, AreReplayedByTheirSeed) {
  const auto played = [](std::uint64_t seed) {
    many_servers m(10, seed);
    m.use(places_by_weight(m));
    EXPECT_EQ(m.call(1), 0);
    m.wait(1s);
    EXPECT_EQ(m.leave_during_calls(3, 5, 50), 0);
    return m.all_calls();
  };
  const auto first = played(7);
  EXPECT_EQ(first, played(7));
  EXPECT_NE(first, played(8));
}

}  // namespace
}  // namespace coracle::xds::many_servers_test
