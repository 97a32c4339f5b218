// ring_hash: the ring by itself, and the policy over scripted servers, in virtual time.
#include "client/balancing/ring_hash.hpp"
#include "unit/client/balancer_fixture.hpp"

#include <map>
#include <set>

namespace coracle::client::test::ring_hash_test {
namespace {

std::vector<std::string> keys(std::size_t n) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back("10.0.0." + std::to_string(i) + ":80");
  return all;
}

TEST(HashRing, GivesServersPlacesInProportionToTheirWeights) {
  hash_ring r;
  r.set(keys(3), {1, 2, 5}, 1024, 4096);
  EXPECT_EQ(r.size(), 1024u);
  std::map<std::uint32_t, int> places;
  for (std::size_t i = 0; i < r.size(); ++i) ++places[r.server_at(i)];
  EXPECT_NEAR(places[0], 128, 1);
  EXPECT_NEAR(places[1], 256, 1);
  EXPECT_NEAR(places[2], 640, 1);
}

TEST(HashRing, GrowsForSmallWeightsUpToItsMaximum) {
  hash_ring r;
  r.set(keys(2), {1, 2000}, 1024, 4096);
  EXPECT_GE(r.size(), 2001u);
  r.set(keys(2), {1, 20000}, 1024, 4096);
  EXPECT_EQ(r.size(), 4096u);
}

// Of many values, those that a server had go to all others, and the rest stays.
TEST(HashRing, MovesOnlyTheValuesOfAServerThatLeaves) {
  constexpr std::size_t n = 20;
  hash_ring whole;
  whole.set(keys(n), std::vector<std::uint32_t>(n, 1), 4096, 4096);
  hash_ring less;
  less.set(keys(n - 1), std::vector<std::uint32_t>(n - 1, 1), 4096, 4096);
  int moved = 0;
  constexpr int values = 20'000;
  std::uint64_t hash = 1;
  for (int i = 0; i < values; ++i) {
    hash = hash * 6364136223846793005u + 1442695040888963407u;
    const std::uint32_t before = whole.server_at(whole.find(hash));
    const std::uint32_t after = less.server_at(less.find(hash));
    moved += before != after;
  }
  // The places of the others are nearly the same: one part in n moves, and what more places move.
  EXPECT_GT(moved, values / n / 2);
  EXPECT_LT(moved, values / n * 2);
}

TEST(HashRing, DoesNotDependOnTheOrderOfTheServers) {
  hash_ring a;
  a.set({"x", "y", "z"}, {1, 2, 3}, 1024, 4096);
  hash_ring b;
  b.set({"z", "x", "y"}, {3, 1, 2}, 1024, 4096);
  const std::uint32_t index_in_a[] = {2, 0, 1};
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a.server_at(i), index_in_a[b.server_at(i)]);
}

// --- the policy

class ring : public balancer_fixture {
 protected:
  // Makes a call whose header has the value; connects what it needs, and waits for it.
  static task<subchannel*> call(recording_host& h, const char* value) {
    held_call c;
    if (value) c.add_metadata("user", value);
    pick p = h.policy->choose(pick_info(c));
    if (!p.to && p.otherwise->then == no_server::action::connect) {
      p.otherwise->idle->connect();
      co_await sleep_for(100ms);
      p = h.policy->choose(pick_info(c));
    }
    if (p.to && p.otherwise) p.otherwise->idle->connect();
    co_return p.to;
  }
  static balancing by_user() { return balancing::ring_hash({.request_hash_header = "user"}); }
};

TEST_F(ring, ConnectsToTheServerThatACallNeedsAndNoOther) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update(servers({1, 2, 3, 4}));
    EXPECT_EQ(h.state(), connectivity::idle);
    EXPECT_TRUE(h.net->log.empty());
    subchannel* const first = co_await call(h, "ada");
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(h.net->log.size(), 1u);
    for (int i = 0; i < 10; ++i) {
      subchannel* const again = co_await call(h, "ada");
      EXPECT_EQ(again, first);
    }
    EXPECT_EQ(h.net->log.size(), 1u);
  });
}

// Another call may be picked for between a pick and what follows from it.
TEST_F(ring, EachPickConnectsItsOwnServer) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update(servers({1, 2, 3, 4}));
    std::vector<std::unique_ptr<held_call>> calls;
    std::vector<pick> picks;
    for (int i = 0; i < 100; ++i) {
      calls.push_back(std::make_unique<held_call>());
      calls.back()->add_metadata("user", std::to_string(i).c_str());
      picks.push_back(h.policy->choose(pick_info(*calls.back())));
      EXPECT_EQ(picks.back().otherwise->then, no_server::action::connect);
    }
    for (const pick& p : picks) p.otherwise->idle->connect();
    co_await sleep_for(100ms);
    EXPECT_EQ(h.net->log.size(), 4u);
  });
}

TEST_F(ring, SpreadsValuesOverAllServers) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update(servers({1, 2, 3, 4}));
    std::map<subchannel*, int> calls;
    for (int i = 0; i < 400; ++i) {
      subchannel* const to = co_await call(h, std::to_string(i).c_str());
      ++calls[to];
    }
    EXPECT_EQ(calls.size(), 4u);
    for (const auto& [to, n] : calls) {
      EXPECT_GT(n, 50);
      EXPECT_LT(n, 150);
    }
  });
}

// Picks see the states of the servers before the policy has heard of them.
TEST_F(ring, GivesAReasonForFailuresThatItHasNotHeardOf) {
  run(by_user(), [](recording_host& h) -> task<> {
    h.update(servers({1, 2}));
    for (const auto& s : h.alive) s->eject(status::unavailable("it is an outlier"));
    held_call c;
    c.add_metadata("user", "ada");
    const pick p = h.policy->choose(pick_info(c));
    EXPECT_EQ(p.to, nullptr);
    EXPECT_EQ(p.otherwise->then, no_server::action::fail);
    EXPECT_EQ(p.otherwise->reason, status::unavailable("no server of the ring can be reached"));
    co_return;
  });
}

TEST_F(ring, GoesToTheNextServerWhileOneFailsAndComesBack) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3}) h.net->serve(n);
    h.update(servers({1, 2, 3}));
    subchannel* const home = co_await call(h, "ada");
    const int number = home->where().address().ip_bytes()[3];
    h.net->refuse(number);
    for (scripted_server* s : h.net->of(number)) s->die();
    co_await sleep_for(10ms);
    subchannel* other = co_await call(h, "ada");  // tries the lost server again, which refuses
    other = co_await call(h, "ada");
    EXPECT_NE(other, nullptr);
    EXPECT_NE(other, home);
    EXPECT_GT(h.questions, 0);
    h.net->serve(number);
    co_await sleep_for(10s);  // it is connected to again by itself
    subchannel* const back = co_await call(h, "ada");
    EXPECT_EQ(back, home);
  });
}

TEST_F(ring, FailsWhenAllServersHaveFailed) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3}) h.net->refuse(n);
    h.update(servers({1, 2, 3}));
    subchannel* const none = co_await call(h, "ada");
    EXPECT_EQ(none, nullptr);
    co_await sleep_for(1s);  // the policy tries the others one by one
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    EXPECT_NE(h.reason().find("none of the 3 servers can be reached"), std::string::npos) << h.reason();
    held_call c;
    c.add_metadata("user", "ada");
    const pick p = h.policy->choose(pick_info(c));
    EXPECT_EQ(p.to, nullptr);
    EXPECT_EQ(p.otherwise->then, no_server::action::fail);
    for (int n : {1, 2, 3}) EXPECT_GE(h.net->dials(n), 1u);
  });
}

TEST_F(ring, TakesAnyConnectedServerForACallWithoutTheHeader) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update(servers({1, 2, 3, 4}));
    subchannel* const first = co_await call(h, "ada");
    EXPECT_NE(first, nullptr);
    // Each call that passes over servers connects one more.
    std::set<subchannel*> used;
    for (int i = 0; i < 200; ++i) {
      subchannel* const to = co_await call(h, nullptr);
      EXPECT_NE(to, nullptr);
      used.insert(to);
      co_await sleep_for(100ms);
    }
    EXPECT_EQ(used.size(), 4u);
  });
}

TEST_F(ring, KeepsConnectionsThatStayAndMovesFewValues) {
  run(by_user(), [](recording_host& h) -> task<> {
    for (int n = 1; n <= 10; ++n) h.net->serve(n);
    h.update(servers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    std::map<std::string, net::address> before;
    for (int i = 0; i < 300; ++i) {
      subchannel* const to = co_await call(h, std::to_string(i).c_str());
      before[std::to_string(i)] = to->where().address();
    }
    const std::size_t dials = h.net->log.size();
    h.update(servers({1, 2, 3, 4, 5, 6, 7, 8, 9}));
    int moved = 0;
    for (const auto& [value, where] : before) {
      subchannel* const to = co_await call(h, value.c_str());
      moved += to->where().address() != where;
    }
    EXPECT_EQ(h.net->log.size(), dials);
    EXPECT_GT(moved, 10);
    EXPECT_LT(moved, 75);
  });
}

// gRFC A61: its place on the ring follows the first one.
TEST_F(ring, AServerWhoseAddressesChangeTheirOrderKeepsItsConnection) {
  run(by_user(), [](recording_host& h) -> task<> {
    const auto list = [](int first, int other) {
      std::vector<endpoint> all = servers({first});
      all[0].add_address(at(other));
      return all;
    };
    for (int n : {1, 2}) h.net->serve(n);
    h.update(list(1, 2));
    subchannel* const before = co_await call(h, "ada");
    EXPECT_NE(before, nullptr);
    h.update(list(2, 1));
    subchannel* const after = co_await call(h, "ada");
    EXPECT_EQ(after, before);
    EXPECT_EQ(h.net->log.size(), 1u);
  });
}

TEST_F(ring, MayGoInAnyState) {
  for (int state = 0; state < 4; ++state) {
    struct program {
      static task<> play(int which) {
        recording_host h(*loop::current());
        h.net->vanish(1);
        if (which == 2) h.net->serve(1);
        if (which == 3) h.net->refuse(1);
        h.use(by_user());
        h.update(servers({1}));
        if (which > 0) {
          subchannel* const to = co_await call(h, "ada");
          EXPECT_EQ(to != nullptr, which == 2);
        }
        co_await h.end();
      }
    };
    sync_wait(host_, host_.at(0), program::play(state));
  }
}

}  // namespace
}  // namespace coracle::client::test::ring_hash_test
