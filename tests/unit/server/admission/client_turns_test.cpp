#include "server/admission/client_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

namespace coracle::server_internal::client_turns_test {
namespace {

struct turning_call final : limited_call {
  turning_call(std::uint64_t of, double seconds) {
    client = of;
    cost_s = seconds;
  }
  void admitted() noexcept override {}
  void rejected(bool) noexcept override {}
};

class turns : public ::testing::Test {
 protected:
  turning_call& come(std::uint64_t client, double cost_s = 0) {
    turning_call& c = calls_.emplace_back(client, cost_s);
    turns_.push(c);
    return c;
  }
  // Clients in the order in which `n` calls leave.
  std::vector<std::uint64_t> leave(int n, bool newest_first = false) {
    std::vector<std::uint64_t> order;
    for (int i = 0; i < n; ++i) {
      const limited_call* const c = turns_.take(newest_first);
      order.push_back(c ? c->client : 0);
    }
    return order;
  }
  std::deque<turning_call> calls_;
  client_turns turns_{1'000};
};
using order = std::vector<std::uint64_t>;

TEST_F(turns, EachClientHasOneInARound) {
  for (int i = 0; i < 3; ++i) come(1);
  come(2);
  for (int i = 0; i < 2; ++i) come(3);
  EXPECT_EQ(leave(7), (order{1, 2, 3, 1, 3, 1, 0}));
  EXPECT_TRUE(turns_.empty());
}

TEST_F(turns, WithinAClientTheOldestOrTheNewestLeavesFirst) {
  turning_call& oldest = come(1);
  come(2);
  turning_call& newest = come(1);
  EXPECT_EQ(turns_.take(true), &newest);
  EXPECT_EQ(leave(1, true), order{2});
  EXPECT_EQ(turns_.take(false), &oldest);
}

// A client whose calls are four times as dear runs a quarter of the calls.
TEST_F(turns, ClientsHaveTheSameShareOfTheCostNotOfTheCalls) {
  std::map<std::uint64_t, int> left;
  for (int i = 0; i < 400; ++i) {
    while (std::ranges::count(calls_, 1u, &turning_call::client) < i + 10) come(1, 0.001);
    while (std::ranges::count(calls_, 2u, &turning_call::client) < i + 10) come(2, 0.004);
    ++left[leave(1).front()];
  }
  EXPECT_NEAR(static_cast<double>(left[1]) / left[2], 4, 0.3);
}

// The usual state of a line that is pressed: each client has one call in it.
TEST_F(turns, AClientPaysAlsoIfItHasOneCallAtATime) {
  constexpr std::uint64_t dear = 11;
  const auto cost_of = [](std::uint64_t client) { return client == dear ? 0.008 : 0.001; };
  for (std::uint64_t client = 1; client <= dear; ++client) come(client, cost_of(client));
  double all = 0;
  double of_dear = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t client = leave(1).front();
    all += cost_of(client);
    if (client == dear) of_dear += cost_of(client);
    come(client, cost_of(client));
  }
  EXPECT_LT(of_dear / all, 0.15) << "a fair share is an eleventh";
  EXPECT_GT(of_dear / all, 0.05);
}

// Its calls leave the line before their turn, because they have waited for too long.
TEST_F(turns, AClientPaysHoweverOftenItComesAndGoes) {
  constexpr std::uint64_t dear = 11;
  for (std::uint64_t client = 1; client < dear; ++client) come(client, 0.001);
  double all = 0;
  double of_dear = 0;
  for (int i = 0; i < 2'000; ++i) {
    turning_call& brief = come(dear, 0.008);
    const std::uint64_t client = leave(1).front();
    all += client == dear ? 0.008 : 0.001;
    if (client == dear) of_dear += 0.008;
    else turns_.remove(brief), come(client, 0.001);
  }
  EXPECT_LT(of_dear / all, 0.2) << "a fair share is an eleventh";
}

// It would wait for a round of the others, each time, if it came behind them.
TEST_F(turns, AClientThatComesBackComesBeforeThoseThatHaveHadTurnsSince) {
  come(1);
  EXPECT_EQ(leave(1), order{1});
  for (const std::uint64_t client : {2, 3, 4}) come(client), come(client), come(client);
  EXPECT_EQ(leave(3), (order{2, 3, 4}));
  come(1);
  EXPECT_EQ(leave(4), (order{1, 2, 3, 4}));
  come(2);
  come(3);
  come(1);
  EXPECT_EQ(leave(4), (order{1, 2, 3, 4})) << "its turn was before theirs";
}

// Also if its first call leaves before its turn.
TEST_F(turns, AClientThatIsNewComesBehindTheOthers) {
  for (const std::uint64_t client : {2, 3}) come(client), come(client), come(client);
  EXPECT_EQ(leave(1), order{2});
  turning_call& brief = come(1);
  turns_.remove(brief);
  come(4);
  EXPECT_EQ(leave(1), order{3});
  come(1);
  EXPECT_EQ(leave(3), (order{4, 1, 2})) << "it came before the last turn of client 2 ended";
}

TEST_F(turns, AClientThatHasHadItsTurnComesBehindTheOthers) {
  for (const std::uint64_t client : {2, 3}) come(client), come(client);
  come(1);
  EXPECT_EQ(leave(3), (order{2, 3, 1}));
  come(1);
  EXPECT_EQ(leave(3), (order{2, 3, 1}));
}

// A caller may have many addresses. Its calls leave before their turn here, as they do from a line that has
// too many.
TEST_F(turns, AClientIsRememberedAmongManyThatNeverHaveATurn) {
  come(1);
  EXPECT_EQ(leave(1), order{1});
  for (const std::uint64_t client : {2, 3, 4}) come(client), come(client), come(client);
  EXPECT_EQ(leave(3), (order{2, 3, 4}));
  for (std::uint64_t client = 1'000; client < 1'200; ++client) turns_.remove(come(client));
  come(1);
  EXPECT_EQ(leave(4), (order{1, 2, 3, 4}));
}

TEST_F(turns, ACallThatDoesNotRunMakesItsClientNoneThatIsRemembered) {
  for (const std::uint64_t client : {1, 2, 3}) come(client), (void)leave(1);
  for (std::uint64_t client = 1'000; client < 1'200; ++client) {
    come(client);
    turns_.give_back(*turns_.take(false));
  }
  for (const std::uint64_t client : {2, 3, 1}) come(client);
  EXPECT_EQ(leave(3), (order{2, 1, 3}));
}

TEST_F(turns, DebtsEndWhenNoCallWaits) {
  come(1, 0.001);
  come(2, 0.008);
  (void)leave(2);
  come(2, 0.001);
  come(1, 0.001);
  EXPECT_EQ(leave(2), (order{2, 1}));
}

TEST_F(turns, ACallThatDoesNotRunCostsNothing) {
  for (int i = 0; i < 3; ++i) come(1, 0.008), come(2, 0.001);
  const limited_call* const first = turns_.take(false);
  ASSERT_EQ(first->client, 1u);
  turns_.give_back(*first);
  turns_.give_back(*first);
  EXPECT_EQ(leave(2), (order{1, 2})) << "it is still its turn";
}

// It has waited since its last turn, and waits again.
TEST_F(turns, ACallThatDoesNotRunIsNoTurn) {
  come(1);
  EXPECT_EQ(leave(1), order{1});
  for (const std::uint64_t client : {2, 3, 4}) come(client), come(client), come(client);
  EXPECT_EQ(leave(3), (order{2, 3, 4}));
  come(1);
  const limited_call* const taken = turns_.take(false);
  ASSERT_EQ(taken->client, 1u);
  turns_.give_back(*taken);
  come(1);
  EXPECT_EQ(leave(4), (order{2, 1, 3, 4})) << "the turn of client 2 has begun";
}

// Without this, a client whose calls cost nearly nothing would run thousands of them in its turn.
TEST_F(turns, ATurnHasFewCallsHoweverCheapTheyAre) {
  for (int i = 0; i < 300; ++i) come(1, 1e-6);
  for (int i = 0; i < 3; ++i) come(2, 10);
  constexpr int repay = client_turns::cost_max * client_turns::cost_max;  // the dearest call by the cheapest
  const order got = leave(3 * repay);
  int in_a_row = 0;
  int most = 0;
  for (const std::uint64_t c : got) most = std::max(most, in_a_row = c == 1 ? in_a_row + 1 : 0);
  EXPECT_LE(most, repay + client_turns::cost_max);
  EXPECT_EQ(std::ranges::count(got, 2u), 3);
}

TEST_F(turns, TheClientWithMostLosesItsOldest) {
  EXPECT_EQ(turns_.first_to_lose(), nullptr);
  come(1);
  turning_call& oldest_of_two = come(2);
  come(2);
  come(2);
  EXPECT_EQ(turns_.first_to_lose(), &oldest_of_two);
  EXPECT_TRUE(turns_.is_greedier_than(1));
  EXPECT_TRUE(turns_.is_greedier_than(3));
  EXPECT_FALSE(turns_.is_greedier_than(2));
  turns_.remove(oldest_of_two);
  EXPECT_FALSE(turns_.is_greedier_than(1)) << "it would have as many then";
  EXPECT_TRUE(turns_.is_greedier_than(3));
}

TEST_F(turns, MoreClientsThanAreToldApartShareQueues) {
  for (std::uint64_t client = 1; client <= 900; ++client) come(client);
  std::map<std::uint64_t, int> left;
  for (const std::uint64_t client : leave(900)) ++left[client];
  EXPECT_EQ(left.size(), 900u);
  EXPECT_TRUE(turns_.empty());
  EXPECT_EQ(leave(1), order{0});
}

// Any order of what may happen leaves the calls that should be there.
TEST_F(turns, TheyAreConsistentWhateverHappens) {
  std::mt19937 random(7);
  std::vector<turning_call*> waiting;
  for (int i = 0; i < 20'000; ++i) {
    const auto action = random() % 4;
    if (action < 2 && waiting.size() < 300) {
      waiting.push_back(&come(random() % 40 * (random() % 3), random() % 3 * 0.01));
    } else if (!waiting.empty()) {
      limited_call* gone = waiting[random() % waiting.size()];
      if (action == 2) turns_.remove(*gone);
      else gone = turns_.take(random() % 2 == 0);
      ASSERT_EQ(std::erase(waiting, gone), 1u);
    }
    ASSERT_EQ(turns_.empty(), waiting.empty());
    ASSERT_EQ(turns_.oldest(), waiting.empty() ? nullptr : waiting.front());
    std::map<client_queue*, std::size_t> sizes;
    for (const turning_call* c : waiting) ++sizes[c->queue];
    std::size_t longest = 0;
    for (const auto& [q, n] : sizes) {
      longest = std::max(longest, n);
      ASSERT_EQ(q->calls.size, n);
    }
    ASSERT_EQ(turns_.is_greedier_than(~0ull), longest >= 2) << "a client without calls";
  }
}

}  // namespace
}  // namespace coracle::server_internal::client_turns_test
