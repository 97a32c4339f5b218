// The servers of sessions that belong to the policy itself (gRFC A75).
#include "xds/balancing/override_host.hpp"

#include "unit/client/balancer_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::xds::override_host_test {
namespace {

using namespace std::chrono_literals;
using client::endpoint;
using client::test::at;
using client::test::held_call;
using client::test::recording_host;

// Passes everything on, with a record of the order in which subchannels are made and dropped.
class ordered_host final : public client::forwarding_host {
 public:
  explicit ordered_host(client::balancer_host& above) : forwarding_host(above) {}
  client::subchannel& make_subchannel(const endpoint& to, client::subchannel_user& user) override {
    client::subchannel& s = above_.make_subchannel(to, user);
    made.push_back(s.id());
    return s;
  }
  void drop_subchannel(client::subchannel& s) noexcept override {
    dropped.push_back(s.id());
    above_.drop_subchannel(s);
  }

  std::vector<std::uint64_t> made;
  std::vector<std::uint64_t> dropped;
};

balancing sessions_on(std::initializer_list<int> numbers, balancing child = balancing::round_robin()) {
  session_servers to;
  for (const int n : numbers) to.add(endpoint(at(n)));
  return balancing(std::make_shared<const override_host_config>(std::move(to), std::move(child)));
}

// The server that a call of the session with that one gets; it is connected to if that is needed.
task<client::subchannel*> call_of_session(client::balancer& by, int n) {
  const std::vector<net::address> preferred = {at(n)};
  held_call c;
  client::call_route route;
  route.is_of_session = true;
  route.preferred = &preferred;
  c.set_route(std::move(route));
  client::pick p = by.choose(client::pick_info(c));
  if (!p.to && p.otherwise->then == client::no_server::action::connect) {
    p.otherwise->idle->connect();
    co_await sleep_for(100ms);
    p = by.choose(client::pick_info(c));
  }
  co_return p.to;
}

template <class Program>
void run_in_a_world(Program program) {
  sim::world world{1};
  runtime& host = world.host("host", 1);
  sync_wait(host, host.at(0), program());
}

// The order is that of the numbers, and not that of places in memory: a simulation can be repeated.
TEST(OverrideHost, DropsServersInTheOrderInWhichTheyWereMade) {
  struct program {
    static task<> go() {
      recording_host host(*loop::current());
      ordered_host order(host);
      for (int n = 1; n <= 9; ++n) host.net->serve(n);
      std::unique_ptr<client::balancer> policy = sessions_on({}).config().make(order);
      policy->update(sessions_on({1, 2, 3, 4, 5, 6, 7, 8, 9}), {endpoint(at(1))});
      policy->start();
      co_await sleep_for(100ms);
      for (const int n : {7, 3, 9, 2, 8, 5, 6, 4}) {
        client::subchannel* const to = co_await call_of_session(*policy, n);
        EXPECT_TRUE(to && to->where().address() == at(n)) << n;
      }
      EXPECT_EQ(order.made.size(), 9u);
      policy->update(sessions_on({1}), {endpoint(at(1))});
      EXPECT_EQ(order.dropped, std::vector<std::uint64_t>(order.made.begin() + 1, order.made.end()));
      policy.reset();
      EXPECT_EQ(order.dropped.size(), 9u);
      co_await host.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// A child of another kind makes its own connections: what was kept for sessions goes as soon as they are
// there.
TEST(OverrideHost, DropsWhatItHasKeptWhenTheChildHasAConnectionOfItsOwn) {
  struct program {
    static task<> go() {
      recording_host host(*loop::current());
      ordered_host order(host);
      for (const int n : {1, 2, 3}) host.net->serve(n);
      std::unique_ptr<client::balancer> policy = sessions_on({}).config().make(order);
      policy->update(sessions_on({1, 2, 3}), {endpoint(at(1))});
      policy->start();
      co_await sleep_for(100ms);
      client::subchannel* const second = co_await call_of_session(*policy, 2);
      client::subchannel* const third = co_await call_of_session(*policy, 3);
      const std::uint64_t number = second->id();
      const balancing one = sessions_on({1, 2, 3}, balancing::pick_first());
      policy->update(one, {endpoint(at(2))});
      EXPECT_THAT(order.dropped, testing::Not(testing::Contains(number)));
      client::subchannel* const before = co_await call_of_session(*policy, 2);
      EXPECT_EQ(before, second);
      co_await sleep_for(100ms);
      EXPECT_THAT(order.dropped, testing::Contains(number));
      client::subchannel* const after = co_await call_of_session(*policy, 2);
      EXPECT_EQ(after->where().address(), at(2));
      client::subchannel* const other = co_await call_of_session(*policy, 3);
      EXPECT_EQ(other, third);
      policy.reset();
      co_await host.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

// What the policy has kept goes over to the child with its connections when this lists the server, and stays
// for sessions when it does so no longer.
TEST(OverrideHost, GivesServersToTheChildAndTakesThemBack) {
  struct program {
    static task<> go() {
      recording_host host(*loop::current());
      ordered_host order(host);
      for (const int n : {1, 2}) host.net->serve(n);
      std::unique_ptr<client::balancer> policy = sessions_on({}).config().make(order);
      policy->update(sessions_on({1, 2}), {endpoint(at(1))});
      policy->start();
      co_await sleep_for(100ms);
      client::subchannel* const first = co_await call_of_session(*policy, 2);
      for (const bool listed : {true, false, true, false}) {
        policy->update(sessions_on({1, 2}),
                       listed ? std::vector{endpoint(at(1)), endpoint(at(2))} : std::vector{endpoint(at(1))});
        co_await sleep_for(100ms);
        client::subchannel* const again = co_await call_of_session(*policy, 2);
        EXPECT_EQ(again, first) << listed;
      }
      EXPECT_EQ(host.net->dials(2), 1u);
      EXPECT_EQ(order.dropped.size(), 0u);
      // One that no session uses goes with its place in the child.
      co_await sleep_for(61min);
      EXPECT_EQ(order.dropped.size(), 1u);
      policy->update(sessions_on({1, 2}), {endpoint(at(1)), endpoint(at(2))});
      co_await sleep_for(100ms);
      policy->update(sessions_on({1, 2}), {endpoint(at(1))});
      EXPECT_EQ(order.dropped.size(), 2u);
      policy.reset();
      co_await host.end();
    }
  };
  run_in_a_world([] { return program::go(); });
}

}  // namespace
}  // namespace coracle::xds::override_host_test
