// retry_budget: what calls add to it, what retries take, and on several threads.
#include "coracle/client/retry_budget.hpp"

#include "coracle/base/usage_error.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

namespace coracle::client::retry_budget_test {
namespace {

int taken_of(retry_budget& from) {
  int n = 0;
  while (from.take()) ++n;
  return n;
}

TEST(RetryBudget, BeginsWithItsReserve) {
  retry_budget budget(0.1, 3);
  EXPECT_EQ(budget.available(), 3u);
  EXPECT_EQ(taken_of(budget), 3);
}

TEST(RetryBudget, GetsItsShareOfEachCall) {
  retry_budget budget(0.1, 100);
  (void)taken_of(budget);
  for (int i = 0; i < 9; ++i) budget.call_began();
  EXPECT_FALSE(budget.take());
  budget.call_began();
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(budget.take());
}

TEST(RetryBudget, HoldsNoMoreThanItsReserve) {
  retry_budget budget(1, 3);
  for (int i = 0; i < 10; ++i) budget.call_began();
  EXPECT_EQ(budget.available(), 3u);
}

TEST(RetryBudget, MayAllowNothing) {
  retry_budget budget(1, 0);
  budget.call_began();
  EXPECT_FALSE(budget.take());
}

TEST(RetryBudget, RefusesAShareThatIsNoPart) {
  for (const double share : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(retry_budget(share, 1), usage_error) << share;
  EXPECT_THROW(retry_budget(0.1, 1'000'001), usage_error);
}

TEST(RetryBudget, LosesNothingBetweenThreads) {
  constexpr int calls = 10'000;
  retry_budget budget(0.5, 1'000'000);
  (void)taken_of(budget);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < calls; ++i) {
        budget.call_began();
        if (i % 10 == 0 && budget.take()) ++taken;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(taken + taken_of(budget), 4 * calls / 2);
}

}  // namespace
}  // namespace coracle::client::retry_budget_test
