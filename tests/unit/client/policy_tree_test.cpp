// priority, weighted_target and cluster_manager, over scripted servers, in virtual time.
#include "client/balancing/cluster_manager.hpp"
#include "client/balancing/priority.hpp"
#include "client/balancing/weighted_target.hpp"
#include "unit/client/balancer_fixture.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace coracle::client::test::policy_tree_test {
namespace {

servers_of_child some(std::initializer_list<int> numbers) {
  return std::make_shared<const std::vector<endpoint>>(servers(numbers));
}

class tree : public balancer_fixture {
 protected:
  static void serve(recording_host& h, std::initializer_list<int> list) {
    for (int n : list) h.net->serve(n);
  }
  // How many of n picks each server gets; picks without a server count for no address.
  static std::map<net::address, int> count(recording_host& h, int n) {
    std::map<net::address, int> by;
    held_call c;
    for (int i = 0; i < n; ++i) {
      const pick p = h.policy->choose(pick_info(c));
      ++by[p.to ? p.to->where().address() : net::address()];
    }
    return by;
  }
  // Where the next call goes, with what it needs to connect.
  static task<net::address> target(recording_host& h) {
    held_call c;
    pick p = h.policy->choose(pick_info(c));
    if (!p.to && p.otherwise->then == no_server::action::connect) {
      p.otherwise->idle->connect();
      co_await sleep_for(10ms);
      p = h.policy->choose(pick_info(c));
    }
    co_return p.to ? p.to->where().address() : net::address();
  }
  static void lose(recording_host& h, int n) {
    h.net->refuse(n);
    for (scripted_server* s : h.net->of(n)) s->die();
  }
  static void give(recording_host& h, balancing policy) {
    h.use(policy);
    h.update(servers({1}));
  }
};

// --- a policy of another family below one that stays

balancing below(balancing child) { return balancing::random_subsetting(10, std::move(child)); }

// To server 1, by round_robin.
task<> connect_below(recording_host& h) {
  h.net->serve(1);
  h.update(servers({1}));
  co_await sleep_for(100ms);
}

// Server 2 under a policy of another family.
void change_below(recording_host& h) {
  h.use(below(balancing::pick_first()));
  h.update(servers({2}));
}

TEST_F(tree, ANewPolicyTakesOverWhenItIsReady) {
  run(below(balancing::round_robin()), [](recording_host& h) -> task<> {
    co_await connect_below(h);
    h.net->serve(2, 200ms);
    change_below(h);
    EXPECT_EQ(count(h, 10)[at(1)], 10);
    for (int i = 0; i < 20; ++i) {
      co_await sleep_for(50ms);
      EXPECT_EQ(h.state(), connectivity::ready);
      EXPECT_EQ(count(h, 10)[net::address()], 0);
    }
    EXPECT_EQ(count(h, 10)[at(2)], 10);
    EXPECT_TRUE(h.net->of(1).empty());
  });
}

TEST_F(tree, ANewPolicyTakesOverWhenTheOldOneFails) {
  run(below(balancing::round_robin()), [](recording_host& h) -> task<> {
    co_await connect_below(h);
    h.net->vanish(2);
    change_below(h);
    co_await sleep_for(1s);
    EXPECT_EQ(count(h, 10)[at(1)], 10);
    lose(h, 1);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::connecting);
    EXPECT_EQ(count(h, 10)[net::address()], 10);
  });
}

TEST_F(tree, APolicyThatComesBackBeforeTheSwitchHasLostNothing) {
  run(below(balancing::round_robin()), [](recording_host& h) -> task<> {
    co_await connect_below(h);
    h.net->vanish(2);
    change_below(h);
    co_await sleep_for(100ms);
    h.use(below(balancing::round_robin()));
    h.update(servers({1}));
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(count(h, 10)[at(1)], 10);
    EXPECT_EQ(h.net->dials(1), 1u);
  });
}

TEST_F(tree, ANewPolicyThatFailsTakesOverTooAndItsFailureIsKnown) {
  run(below(balancing::round_robin()), [](recording_host& h) -> task<> {
    co_await connect_below(h);
    h.net->refuse(2);
    change_below(h);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::transient_failure);
  });
}

// --- weighted_target

balancing zones(std::vector<weighted_target_config::target> targets) {
  return balancing(std::make_shared<const weighted_target_config>(std::move(targets)));
}

TEST_F(tree, DistributesCallsByWeight) {
  run(zones(
          {{"a", 1, balancing::round_robin(), some({1})}, {"b", 3, balancing::round_robin(), some({2, 3})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2, 3});
        h.update(servers({1}));
        EXPECT_EQ(h.state(), connectivity::connecting);
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::ready);
        auto by = count(h, 8000);
        EXPECT_NEAR(by[at(1)], 2000, 200);
        EXPECT_NEAR(by[at(2)], 3000, 200);
        EXPECT_NEAR(by[at(3)], 3000, 200);
      });
}

TEST_F(tree, DistributesCallsByLargeWeights) {
  run(zones({{"a", 1u << 31, balancing::round_robin(), some({1})},
             {"b", 1u << 30, balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2});
        h.update(servers({1}));
        co_await sleep_for(100ms);
        auto by = count(h, 9000);
        EXPECT_NEAR(by[at(1)], 6000, 200);
        EXPECT_NEAR(by[at(2)], 3000, 200);
      });
}

TEST_F(tree, GivesTheCallsOfAChildThatFailsToTheOthers) {
  run(zones({{"a", 1, balancing::round_robin(), some({1})}, {"b", 3, balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2});
        h.update(servers({1}));
        co_await sleep_for(100ms);
        lose(h, 2);
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::ready);
        EXPECT_EQ(count(h, 100)[at(1)], 100);
        lose(h, 1);
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::transient_failure);
        held_call c;
        const pick p = h.policy->choose(pick_info(c));
        EXPECT_EQ(p.to, nullptr);
        EXPECT_EQ(p.otherwise->then, no_server::action::fail);
      });
}

TEST_F(tree, KeepsTheConnectionsOfChildrenThatStay) {
  run(zones({{"a", 1, balancing::round_robin(), some({1})}, {"b", 1, balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2, 3});
        h.update(servers({1}));
        co_await sleep_for(100ms);
        give(h, zones({{"b", 9, balancing::round_robin(), some({2})},
                       {"c", 1, balancing::round_robin(), some({3})}}));
        EXPECT_EQ(h.state(), connectivity::ready);
        co_await sleep_for(100ms);
        auto by = count(h, 1000);
        EXPECT_NEAR(by[at(2)], 900, 60);
        EXPECT_NEAR(by[at(3)], 100, 60);
        EXPECT_EQ(h.net->dials(2), 1u);
        EXPECT_TRUE(h.net->of(1).empty());
      });
}

TEST_F(tree, AChildThatComesLaterConnectsAndOneThatRestsIsConnectedAgain) {
  run(zones({{"a", 1, balancing::pick_first(), some({1})}}), [](recording_host& h) -> task<> {
    serve(h, {1, 2});
    h.update(servers({1}));
    co_await sleep_for(100ms);
    give(h,
         zones({{"a", 1, balancing::pick_first(), some({1})}, {"b", 1, balancing::pick_first(), some({2})}}));
    co_await sleep_for(100ms);
    auto by = count(h, 1000);
    EXPECT_NEAR(by[at(2)], 500, 80);
    for (scripted_server* s : h.net->of(2)) s->die();
    co_await sleep_for(1s);
    by = count(h, 1000);
    EXPECT_NEAR(by[at(2)], 500, 80);
  });
}

TEST_F(tree, RingHashBelowWeightsServesCalls) {
  run(zones({{"a", 1, balancing::ring_hash(), some({1, 2})}, {"b", 1, balancing::ring_hash(), some({3, 4})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2, 3, 4});
        h.update(servers({1}));
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::ready);
        auto by = count(h, 1000);
        EXPECT_NEAR(by[at(1)] + by[at(2)], 500, 80);
        EXPECT_NEAR(by[at(3)] + by[at(4)], 500, 80);
      });
}

TEST_F(tree, AZoneWithoutServersFailsAndTheOthersServe) {
  run(zones({{"a", 1, balancing::pick_first(), some({})}, {"b", 1, balancing::round_robin(), some({})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1});
        h.update(servers({1}));
        EXPECT_EQ(h.state(), connectivity::transient_failure);
        EXPECT_NE(h.reason().find("the list of servers is empty"), std::string::npos) << h.reason();
        give(h, zones({{"a", 1, balancing::pick_first(), some({1})},
                       {"b", 1, balancing::round_robin(), some({})}}));
        co_await sleep_for(100ms);
        EXPECT_EQ(count(h, 10)[at(1)], 10);
        give(h, zones({}));
        EXPECT_EQ(h.state(), connectivity::transient_failure);
      });
}

// --- priority

balancing levels(std::vector<priority_config::level> l) {
  return balancing(std::make_shared<const priority_config>(std::move(l)));
}

TEST_F(tree, UsesTheFirstLevelAndTouchesNoOther) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2});
        h.update(servers({1}));
        co_await sleep_for(1min);
        EXPECT_EQ(count(h, 10)[at(1)], 10);
        EXPECT_EQ(h.net->dials(2), 0u);
      });
}

TEST_F(tree, GoesToTheNextLevelAsSoonAsOneFailsAndBackWhenItWorks) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {2});
        h.net->refuse(1);
        h.update(servers({1}));
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::ready);
        EXPECT_EQ(count(h, 10)[at(2)], 10);
        h.net->serve(1);
        co_await sleep_for(1min);
        EXPECT_EQ(count(h, 10)[at(1)], 10);
        // The lower level stays connected for a while, and then goes.
        EXPECT_EQ(h.net->of(2).size(), 1u);
        co_await sleep_for(16min);
        EXPECT_EQ(h.net->of(2).size(), 0u);
        EXPECT_EQ(count(h, 10)[at(1)], 10);
      });
}

TEST_F(tree, WaitsTenSecondsForALevelThatConnects) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {2});
        h.net->vanish(1);
        h.update(servers({1}));
        co_await sleep_for(9s);
        EXPECT_EQ(h.net->dials(2), 0u);
        EXPECT_EQ(count(h, 1)[net::address()], 1);
        co_await sleep_for(2s);
        EXPECT_EQ(count(h, 10)[at(2)], 10);
      });
}

TEST_F(tree, GivesALevelThatWorkedTimeToConnectAgain) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2});
        h.update(servers({1}));
        co_await sleep_for(1min);
        h.net->serve(1, 5s);  // the next connection takes that long
        for (scripted_server* s : h.net->of(1)) s->die();
        co_await sleep_for(4s);
        EXPECT_EQ(h.net->dials(2), 0u);
        co_await sleep_for(4s);
        EXPECT_EQ(count(h, 10)[at(1)], 10);
        EXPECT_EQ(h.net->dials(2), 0u);
      });
}

TEST_F(tree, AnIdleLevelIsUsed) {
  run(levels({{"p0", balancing::pick_first(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2});
        h.update(servers({1}));
        co_await sleep_for(100ms);
        const net::address first = co_await target(h);
        EXPECT_EQ(first, at(1));
        for (scripted_server* s : h.net->of(1)) s->die();
        co_await sleep_for(1s);
        EXPECT_EQ(h.state(), connectivity::idle);
        const net::address again = co_await target(h);
        EXPECT_EQ(again, at(1));
        EXPECT_EQ(h.net->dials(2), 0u);
      });
}

TEST_F(tree, FailsWithTheLastLevelWhenAllFail) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        h.net->refuse(1);
        h.net->refuse(2);
        h.update(servers({1}));
        co_await sleep_for(100ms);
        EXPECT_EQ(h.state(), connectivity::transient_failure);
        EXPECT_NE(h.reason().find("cannot connect"), std::string::npos) << h.reason();
        h.net->serve(2);
        co_await sleep_for(10s);
        EXPECT_EQ(count(h, 10)[at(2)], 10);
      });
}

TEST_F(tree, ALevelOfPickFirstConnectsWhenItIsNeeded) {
  run(levels({{"p0", balancing::pick_first(), some({1})}, {"p1", balancing::pick_first(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {2});
        h.net->refuse(1);
        h.update(servers({1}));
        co_await sleep_for(1s);
        EXPECT_EQ(count(h, 10)[at(2)], 10);
      });
}

TEST_F(tree, LevelsThatLeaveTheListEndAtOnceAndNewOnesCome) {
  run(levels({{"p0", balancing::round_robin(), some({1})}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {1, 2, 3});
        h.update(servers({1}));
        co_await sleep_for(1s);
        give(h, levels({{"p2", balancing::round_robin(), some({3})},
                        {"p0", balancing::round_robin(), some({1})}}));
        co_await sleep_for(1s);
        EXPECT_EQ(count(h, 10)[at(3)], 10);
        EXPECT_EQ(h.net->of(1).size(), 1u);
        give(h, levels({{"p2", balancing::round_robin(), some({3})}}));
        co_await sleep_for(1s);
        EXPECT_EQ(h.net->of(1).size(), 0u);
        EXPECT_EQ(h.net->dials(3), 1u);
      });
}

TEST_F(tree, RequestsForAnotherResolutionMayBeIgnored) {
  run(levels(
          {{"p0", balancing::round_robin(), some({1}), true}, {"p1", balancing::round_robin(), some({2})}}),
      [](recording_host& h) -> task<> {
        serve(h, {2});
        h.net->refuse(1);
        h.update(servers({1}));
        co_await sleep_for(10s);
        EXPECT_EQ(h.questions, 0);
        lose(h, 2);
        co_await sleep_for(10s);
        EXPECT_GT(h.questions, 0);
      });
}

// --- cluster_manager

std::shared_ptr<const routed_cluster> named(const char* name) {
  return std::make_shared<const routed_cluster>(routed_cluster{name});
}

balancing clusters(std::vector<cluster_manager_config::cluster> c) {
  return balancing(std::make_shared<const cluster_manager_config>(std::move(c)));
}

pick choose(recording_host& h, const std::shared_ptr<const routed_cluster>& to,
            std::optional<std::uint64_t> hash = std::nullopt) {
  held_call c;
  call_route route;
  route.cluster = to;
  route.hash = hash;
  c.set_route(std::move(route));
  return h.policy->choose(pick_info(c));
}

TEST_F(tree, GivesACallToTheClusterOfItsRoute) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1, 2});
    const auto a = named("a");
    const auto b = named("b");
    give(h, clusters({{a, balancing::round_robin(), some({1})}, {b, balancing::round_robin(), some({2})}}));
    EXPECT_EQ(h.state(), connectivity::connecting);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(choose(h, a).to->where().address(), at(1));
    EXPECT_EQ(choose(h, b).to->where().address(), at(2));
    const pick none = choose(h, named("c"));
    EXPECT_EQ(none.to, nullptr);
    EXPECT_EQ(none.otherwise->then, no_server::action::drop);
    held_call unrouted;
    EXPECT_EQ(h.policy->choose(pick_info(unrouted)).to, nullptr);
  });
}

TEST_F(tree, KeepsAClusterThatIsGoneWhileACallHasItsRoute) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1, 2});
    auto a = named("a");
    const auto b = named("b");
    give(h, clusters({{a, balancing::round_robin(), some({1})}, {b, balancing::round_robin(), some({2})}}));
    co_await sleep_for(100ms);
    give(h, clusters({{b, balancing::round_robin(), some({2})}}));
    co_await sleep_for(1min);
    EXPECT_EQ(choose(h, a).to->where().address(), at(1));
    a = nullptr;
    co_await sleep_for(10s);
    EXPECT_EQ(choose(h, named("a")).to, nullptr);
    EXPECT_TRUE(h.net->of(1).empty());
    EXPECT_EQ(choose(h, b).to->where().address(), at(2));
    EXPECT_EQ(h.net->dials(2), 1u);
  });
}

TEST_F(tree, AClusterThatComesLaterConnects) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1, 2});
    const auto a = named("a");
    const auto b = named("b");
    give(h, clusters({{a, balancing::pick_first(), some({1})}}));
    co_await sleep_for(100ms);
    give(h, clusters({{a, balancing::pick_first(), some({1})}, {b, balancing::pick_first(), some({2})}}));
    co_await sleep_for(100ms);
    EXPECT_NE(choose(h, b).to, nullptr);
  });
}

TEST_F(tree, AClusterThatReturnsIsKeptForTheCallsOfItsFirstTime) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1, 2});
    const auto first = named("a");
    const auto b = named("b");
    give(h, clusters({{first, balancing::round_robin(), some({1})}}));
    give(h, clusters({{named("a"), balancing::round_robin(), some({1})}}));
    co_await sleep_for(100ms);
    give(h, clusters({{b, balancing::round_robin(), some({2})}}));
    co_await sleep_for(1min);
    EXPECT_NE(choose(h, first).to, nullptr);
  });
}

TEST_F(tree, AClusterThatFailsDoesNotConcernTheOthers) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1});
    h.net->refuse(2);
    const auto a = named("a");
    const auto b = named("b");
    give(h, clusters({{a, balancing::round_robin(), some({1})}, {b, balancing::round_robin(), some({2})}}));
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_NE(choose(h, a).to, nullptr);
    EXPECT_EQ(choose(h, b).otherwise->then, no_server::action::fail);
  });
}

TEST_F(tree, RingHashTakesTheHashOfTheRoute) {
  run(clusters({}), [](recording_host& h) -> task<> {
    serve(h, {1, 2, 3, 4});
    const auto a = named("a");
    give(h, clusters({{a, balancing::ring_hash(), some({1, 2, 3, 4})}}));
    std::map<std::uint64_t, net::address> home;
    for (int round = 0; round < 2; ++round) {
      for (std::uint64_t i = 1; i <= 20; ++i) {
        const std::uint64_t hash = i * 0x9E3779B97F4A7C15u;
        pick p = choose(h, a, hash);
        if (!p.to) {
          p.otherwise->idle->connect();
          co_await sleep_for(100ms);
          p = choose(h, a, hash);
        }
        if (round == 0) home[hash] = p.to->where().address();
        else EXPECT_EQ(p.to->where().address(), home[hash]);
      }
    }
    std::map<net::address, int> used;
    for (const auto& [hash, where] : home) ++used[where];
    EXPECT_EQ(used.size(), 4u);
  });
}

}  // namespace
}  // namespace coracle::client::test::policy_tree_test
