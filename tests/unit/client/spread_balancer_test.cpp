// spread_balancer and its policies over scripted servers, in virtual time.
#include "unit/client/balancer_fixture.hpp"

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace coracle::client::test::spread_balancer_test {
namespace {

class spread : public balancer_fixture {
 protected:
  static void start(recording_host& h, std::initializer_list<int> list) {
    for (int n : list) h.net->serve(n);
    h.update(servers(list));
  }
  // Opens the given number of calls, keeps them open, and counts them by server.
  static std::map<net::address, int> count(recording_host& h, std::vector<std::unique_ptr<held_call>>& calls,
                                           int n) {
    std::map<net::address, int> by;
    for (int i = 0; i < n; ++i) {
      calls.push_back(std::make_unique<held_call>());
      if (subchannel* s = h.call(*calls.back())) ++by[s->where().address()];
    }
    return by;
  }
};

TEST_F(spread, RoundRobinGivesEachServerItsTurn) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    std::vector<std::unique_ptr<held_call>> calls;
    for (const auto& [where, n] : count(h, calls, 30)) EXPECT_EQ(n, 10) << where;
    EXPECT_EQ(h.net->log.size(), 3u);
  });
}

TEST_F(spread, RoundRobinPassesOverServersThatAreFull) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    for (int n : {1, 2}) h.net->serve(n, 1ms, n == 1 ? 2 : 100);
    h.update(servers({1, 2}));
    co_await sleep_for(100ms);
    std::vector<std::unique_ptr<held_call>> calls;
    auto by = count(h, calls, 30);
    EXPECT_EQ(by[at(1)], 2);
    EXPECT_EQ(by[at(2)], 28);
  });
}

TEST_F(spread, IsReadyWithOneServerAndFailsOnlyWithoutAny) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    h.net->serve(1, 500ms);
    h.update(servers({1, 2, 3}));
    EXPECT_EQ(h.state(), connectivity::connecting);
    co_await sleep_for(400ms);
    EXPECT_EQ(h.state(), connectivity::connecting);
    co_await sleep_for(200ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    h.net->refuse(1);
    for (scripted_server* s : h.net->of(1)) s->die();
    co_await sleep_for(10s);
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    EXPECT_NE(h.reason().find("none of 3 servers"), std::string::npos) << h.reason();
    EXPECT_GE(h.questions, 1);
    h.net->serve(2);
    co_await sleep_for(1min);
    EXPECT_EQ(h.state(), connectivity::ready);
  });
}

TEST_F(spread, ConnectsAgainToAServerThatWasLostWithoutACall) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    for (scripted_server* s : h.net->of(1)) s->die();
    co_await sleep_for(5s);
    EXPECT_EQ(h.net->of(1).size(), 1u);
    EXPECT_EQ(h.net->dials(2), 1u);
  });
}

TEST_F(spread, KeepsTheConnectionsOfServersThatStayInTheList) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    h.net->serve(3);
    h.update(servers({2, 3}));
    co_await sleep_for(10s);
    EXPECT_EQ(h.net->dials(2), 1u);
    EXPECT_TRUE(h.net->of(1).empty());
    EXPECT_EQ(h.net->of(3).size(), 1u);
    std::vector<std::unique_ptr<held_call>> calls;
    EXPECT_EQ(count(h, calls, 10)[at(1)], 0);
  });
}

// gRFC A61
TEST_F(spread, AServerWhoseAddressesChangeTheirOrderKeepsItsConnection) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    const auto list = [](std::initializer_list<int> addresses) {
      std::vector<endpoint> all = servers({*addresses.begin()});
      for (const int* n = addresses.begin() + 1; n != addresses.end(); ++n) all[0].add_address(at(*n));
      return all;
    };
    for (int n : {1, 2, 3}) h.net->serve(n);
    h.update(list({1, 2}));
    co_await sleep_for(1s);
    const std::vector<std::vector<endpoint>> updates = {list({2, 1}), list({2, 3, 1}), list({1})};
    for (const std::vector<endpoint>& next : updates) {
      h.update(next);
      co_await sleep_for(1s);
      EXPECT_EQ(h.state(), connectivity::ready);
      EXPECT_EQ(h.alive.size(), 1u);
    }
    EXPECT_EQ(h.net->log.size(), 1u);
    h.update(servers({1, 2}));  // two servers from now on
    co_await sleep_for(1s);
    EXPECT_EQ(h.net->dials(1), 1u);
    EXPECT_EQ(h.net->dials(2), 1u);
  });
}

// Sends calls with one path to one server, and drops calls with another.
class by_path final : public pick_policy {
 public:
  std::size_t pick(std::span<const pick_candidate> ready, const pick_info& call) override {
    if (call.path() == "/s/dropped") return drop;
    for (std::size_t i = 0; i < ready.size(); ++i)
      if (ready[i].where().address() == at(2)) return i;
    return 0;
  }
};

TEST_F(spread, KeepsTheConnectionsUnderAnotherPolicy) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    h.use(balancing::by([](std::uint64_t) { return std::make_unique<by_path>(); }));
    h.update(servers({1, 2}));
    EXPECT_EQ(h.state(), connectivity::ready);
    std::vector<std::unique_ptr<held_call>> calls;
    EXPECT_EQ(count(h, calls, 10)[at(2)], 10);
    EXPECT_EQ(h.net->dials(1) + h.net->dials(2), 2u);
  });
}

TEST_F(spread, LeastRequestPrefersTheServerWithFewerCalls) {
  run(balancing::least_request(10), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    std::vector<std::unique_ptr<held_call>> calls;
    auto by = count(h, calls, 60);
    for (int n : {1, 2, 3}) EXPECT_NEAR(by[at(n)], 20, 3);
  });
}

// gRFC A48, by the numbers of calls that the servers have: which one the fewest of `choices` draws is, each
// of any server. Of several with as few calls, the first that was drawn. Counted over all sequences of draws,
// not computed as the policy does.
std::vector<double> expected_shares(const std::vector<int>& open_calls, unsigned choices) {
  const std::size_t n = open_calls.size();
  // After some draws: how probable it is that a server is the best so far.
  std::vector<double> best(n, 1.0 / static_cast<double>(n));
  for (unsigned draw = 1; draw < choices; ++draw) {
    std::vector<double> next(n, 0);
    for (std::size_t had = 0; had < n; ++had)
      for (std::size_t drawn = 0; drawn < n; ++drawn)
        next[open_calls[drawn] < open_calls[had] ? drawn : had] += best[had] / static_cast<double>(n);
    best = std::move(next);
  }
  return best;
}

// For distinct numbers of calls, the server with the r-th fewest is chosen if no draw has fewer, and not all
// have more: ((n - r)^k - (n - r - 1)^k) / n^k.
TEST(LeastRequest, TheModelIsThatOfTheFormula) {
  const std::vector<int> open_calls = {0, 1, 2, 3, 4};
  for (const unsigned k : {2u, 3u, 10u}) {
    const std::vector<double> shares = expected_shares(open_calls, k);
    for (int r = 0; r < 5; ++r)
      EXPECT_NEAR(shares[static_cast<std::size_t>(r)],
                  (std::pow(5 - r, k) - std::pow(4 - r, k)) / std::pow(5, k), 1e-12);
  }
}

// Servers 1 to 6 with 0, 1, 1, 2, 4 and 4 calls in flight.
template <unsigned Choices>
task<> draw_many(recording_host& h) {
  const std::vector<int> open_calls = {0, 1, 1, 2, 4, 4};
  for (int n = 1; n <= 6; ++n) h.net->serve(n);
  h.update(servers({1, 2, 3, 4, 5, 6}));
  co_await sleep_for(100ms);
  std::vector<std::unique_ptr<held_call>> held;
  // A call that a server refuses goes to another one: calls are opened by the servers' own subchannels.
  for (std::size_t i = 0; i < open_calls.size(); ++i)
    for (const auto& s : h.alive)
      for (int j = 0; s->where().address() == at(static_cast<int>(i) + 1) && j < open_calls[i]; ++j) {
        held.push_back(std::make_unique<held_call>());
        const transport::exchange x = s->open(*held.back());
        EXPECT_TRUE(x);
        held.back()->begin(x);
      }
  constexpr int picks = 100'000;
  std::map<net::address, int> by;
  held_call c;
  for (int i = 0; i < picks; ++i) ++by[h.policy->choose(pick_info(c)).to->where().address()];
  const std::vector<double> shares = expected_shares(open_calls, Choices);
  double chi_square = 0;
  double others = 0;  // servers of which fewer than five picks are expected, as the test requires
  int picks_of_others = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = shares[i] * picks;
    const int seen = by[at(static_cast<int>(i) + 1)];
    if (expected < 5) {
      others += expected;
      picks_of_others += seen;
    } else {
      chi_square += (seen - expected) * (seen - expected) / expected;
    }
  }
  EXPECT_LT(picks_of_others, others + 12);
  // Of 1,000 right policies, one exceeds this with five degrees of freedom; the seed is always the same.
  EXPECT_LT(chi_square, 20.5);
}

TEST_F(spread, LeastRequestOfTwoIsThatOfA48) { run(balancing::least_request(2), draw_many<2>); }
TEST_F(spread, LeastRequestOfThreeIsThatOfA48) { run(balancing::least_request(3), draw_many<3>); }
TEST_F(spread, LeastRequestOfTenIsThatOfA48) { run(balancing::least_request(10), draw_many<10>); }
// More than ten count as ten.
TEST_F(spread, LeastRequestOfElevenIsThatOfTen) { run(balancing::least_request(11), draw_many<10>); }

TEST_F(spread, WeightsAreSharesOfTheCalls) {
  run(balancing::weighted(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update({endpoint(at(1), 1), endpoint(at(2), 2), endpoint(at(3), 5), endpoint(at(4), 0)});
    co_await sleep_for(100ms);
    std::vector<std::unique_ptr<held_call>> calls;
    auto by = count(h, calls, 80);
    EXPECT_NEAR(by[at(1)], 10, 1);
    EXPECT_NEAR(by[at(2)], 20, 1);
    EXPECT_NEAR(by[at(3)], 50, 1);
    EXPECT_EQ(h.net->dials(4), 0u);  // no connection is made to a server of weight 0
    h.update({endpoint(at(1), 9), endpoint(at(2), 1)});
    calls.clear();
    co_await sleep_for(100ms);
    EXPECT_NEAR((count(h, calls, 80)[at(1)]), 72, 1);
    EXPECT_EQ(h.net->dials(1), 1u);
  });
}

TEST_F(spread, GoesByAPolicyOfTheUsers) {
  run(balancing::by([](std::uint64_t) { return std::make_unique<by_path>(); }),
      [](recording_host& h) -> task<> {
        start(h, {1, 2, 3});
        co_await sleep_for(100ms);
        std::vector<std::unique_ptr<held_call>> calls;
        EXPECT_EQ(count(h, calls, 10)[at(2)], 10);
        held_call dropped("/s/dropped");
        const pick p = h.policy->choose(pick_info(dropped));
        EXPECT_EQ(p.to, nullptr);
        EXPECT_EQ(p.otherwise->then, no_server::action::drop);
      });
}

TEST_F(spread, MakesFurtherConnectionsWhileCallsWait) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    h.connections_max = 3;
    h.net->serve(1, 1ms, 2);
    h.update(servers({1}));
    co_await sleep_for(100ms);
    std::vector<std::unique_ptr<held_call>> calls;
    for (int round = 0; round < 10; ++round) {
      count(h, calls, 1);
      co_await sleep_for(10ms);
    }
    EXPECT_EQ(h.net->of(1).size(), 3u);
    std::vector<std::size_t> requests;
    for (scripted_server* s : h.net->of(1)) requests.push_back(s->requests());
    EXPECT_EQ(requests, (std::vector<std::size_t>{2, 2, 2}));
  });
}

TEST_F(spread, StaysReadyWhileAFurtherConnectionFails) {
  run(balancing::round_robin(), [](recording_host& h) -> task<> {
    h.connections_max = 2;
    h.net->serve(1, 1ms, 1);
    h.update(servers({1}));
    co_await sleep_for(100ms);
    h.net->refuse(1);
    std::vector<std::unique_ptr<held_call>> calls;
    for (int round = 0; round < 20; ++round) {
      count(h, calls, 1);
      co_await sleep_for(100ms);
    }
    EXPECT_EQ(h.state(), connectivity::ready);
    // One immediately, then one after each pause: not one per call.
    EXPECT_GE(h.net->dials(1), 2u);
    EXPECT_LE(h.net->dials(1), 4u);
  });
}

TEST_F(spread, MayGoInAnyState) {
  for (int state = 0; state < 3; ++state) {
    struct program {
      static task<> play(int which) {
        recording_host h(*loop::current());
        if (which == 1) h.net->vanish(1);
        if (which == 2) h.net->serve(1);
        h.use(balancing::round_robin());
        h.update(servers({1, 2}));
        co_await sleep_for(10ms);
        co_await h.end();
      }
    };
    sync_wait(host_, host_.at(0), program::play(state));
  }
}

}  // namespace
}  // namespace coracle::client::test::spread_balancer_test
