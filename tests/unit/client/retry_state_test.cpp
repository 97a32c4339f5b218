// gRFC A6 as a table: what follows each end of an attempt, under each policy.
#include "client/call/retry_state.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

namespace coracle::client::retry_state_test {
namespace {

using namespace std::chrono_literals;
using action = next_step::action;

constexpr std::uint64_t middle = 500'000;  // the draw that leaves a pause as it is
constexpr std::uint64_t lowest = 0;
constexpr std::uint64_t highest = 1'000'000;

std::shared_ptr<retry_policy> four_tries() {
  auto p = std::make_shared<retry_policy>();
  p->max_attempts = 4;
  p->initial_backoff = 100ms;
  p->max_backoff = 300ms;
  p->backoff_multiplier = 2;
  p->retryable.add(status_code::unavailable);
  return p;
}

std::shared_ptr<hedging_policy> three_hedges() {
  auto p = std::make_shared<hedging_policy>();
  p->max_attempts = 3;
  p->delay = 50ms;
  p->non_fatal.add(status_code::unavailable);
  return p;
}

attempt_result ended(status_code code) {
  attempt_result e;
  e.outcome = status(code, "as scripted");
  return e;
}
attempt_result pushed_back(status_code code, std::optional<duration> after) {
  attempt_result e = ended(code);
  e.pushback = true;
  e.retry_after = after;
  return e;
}

class retries : public testing::Test {
 protected:
  retries() { plan_.begin(); }
  next_step fail(const attempt_result& e, std::uint64_t random = middle) {
    return plan_.failed(e, 0, random);
  }
  std::shared_ptr<retry_throttle> tokens_ = std::make_shared<retry_throttle>(10, 500);
  retry_state plan_{four_tries(), tokens_};
};

TEST_F(retries, FollowARetryableStatusAfterABackoff) {
  const next_step s = fail(ended(status_code::unavailable));
  EXPECT_EQ(s.next, action::retry);
  EXPECT_EQ(s.pause, 100ms);
}

// "10000000000s" of a service config exceeds the range of a duration.
TEST_F(retries, WaitNoLongerThanTheLongestDuration) {
  auto longest = four_tries();
  longest->initial_backoff = longest->max_backoff = duration::max();
  for (const std::uint64_t random : {lowest, middle, highest}) {
    retry_state plan(longest, tokens_);
    plan.begin();
    const next_step s = plan.failed(ended(status_code::unavailable), 0, random);
    EXPECT_EQ(s.next, action::retry);
    EXPECT_GE(s.pause, duration::max() / 10 * 7) << random;
  }
}

// Whether a call whose first attempt has failed makes another one.
bool goes_on(retry_state plan) {
  plan.begin();
  const next_step s = plan.failed(ended(status_code::unavailable), 0, middle);
  const bool allowed = s.next == action::retry && plan.attempt_allowed();
  EXPECT_EQ(plan.take_throttled(), !allowed);
  return allowed;
}

TEST_F(retries, TakeFromTheBudgetThatTheirCallsFill) {
  retry_budget budget(0.5, 2);
  const auto fails = [&] { return goes_on(retry_state(four_tries(), nullptr, &budget)); };
  EXPECT_TRUE(fails());
  EXPECT_EQ(budget.available(), 1u);
  EXPECT_TRUE(fails());
  EXPECT_EQ(budget.available(), 0u) << "a half is left";
  EXPECT_TRUE(fails());
  EXPECT_FALSE(fails());
  EXPECT_TRUE(fails()) << "two calls pay one retry";
  EXPECT_FALSE(fails());
}

TEST_F(retries, TakeNothingFromTheBudgetBeforeTheyBegin) {
  retry_budget budget(0, 2);
  retry_state plan(four_tries(), tokens_, &budget);
  plan.begin();
  EXPECT_EQ(plan.failed(ended(status_code::internal), 0, middle).next, action::fail);
  EXPECT_EQ(plan.failed(ended(status_code::unavailable), 0, middle).next, action::retry);
  EXPECT_EQ(budget.available(), 2u) << "the call may end in the pause";
}

TEST_F(retries, DoNotBeginWhenOthersHaveTakenTheBudgetInThePause) {
  retry_budget budget(0, 1);
  retry_state plan(four_tries(), nullptr, &budget);
  plan.begin();
  EXPECT_EQ(plan.failed(ended(status_code::unavailable), 0, middle).next, action::retry);
  EXPECT_TRUE(budget.take());
  EXPECT_FALSE(plan.attempt_allowed());
  EXPECT_TRUE(plan.take_throttled());
}

TEST_F(retries, DoNotFollowAnyOtherStatusAndThatCostsNoToken) {
  for (const status_code c : {status_code::ok, status_code::cancelled, status_code::internal,
                              status_code::deadline_exceeded, status_code::resource_exhausted}) {
    retry_state plan(four_tries(), tokens_);
    plan.begin();
    EXPECT_EQ(plan.failed(ended(c), 0, middle).next, action::fail) << name_of(c);
  }
  EXPECT_EQ(tokens_->tokens(), 10'000);
}

TEST_F(retries, DoNotFollowTheChannelsLastWord) {
  attempt_result e = ended(status_code::unavailable);
  e.final = true;
  EXPECT_EQ(fail(e).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 10'000);
}

// A retry would wait with the others, of which there are too many.
TEST_F(retries, DoNotFollowAnAttemptThatWasDisplaced) {
  attempt_result e = ended(status_code::unavailable);
  e.displaced = true;
  EXPECT_EQ(fail(e).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 10'000);
}

TEST_F(retries, GrowTheirPausesUpToTheLargest) {
  EXPECT_EQ(fail(ended(status_code::unavailable)).pause, 100ms);
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable)).pause, 200ms);
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable)).pause, 300ms);
}

TEST_F(retries, SpreadTheirPausesByAFifthEitherWay) {
  EXPECT_EQ(fail(ended(status_code::unavailable), lowest).pause, 80ms);
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable), highest).pause, 240ms);
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable), highest).pause, 360ms);  // the largest is spread, too
}

TEST_F(retries, EndWithTheLastAttemptWhichCostsATokenAllTheSame) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(fail(ended(status_code::unavailable)).next, action::retry);
    EXPECT_EQ(plan_.begin(), static_cast<unsigned>(i + 1));
  }
  EXPECT_EQ(fail(ended(status_code::unavailable)).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 6'000);
}

TEST_F(retries, WaitAsLongAsTheServerSaysAndBeginTheirPausesAnew) {
  EXPECT_EQ(fail(ended(status_code::unavailable)).pause, 100ms);
  plan_.begin();
  EXPECT_EQ(fail(pushed_back(status_code::unavailable, 7s)).pause, 7s);
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable)).pause, 100ms);
}

TEST_F(retries, EndWhenTheServerSaysSoWhateverTheStatusAndThatCostsAToken) {
  EXPECT_EQ(fail(pushed_back(status_code::unavailable, std::nullopt)).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 9'000);
  retry_state other(four_tries(), tokens_);
  other.begin();
  EXPECT_EQ(other.failed(pushed_back(status_code::internal, std::nullopt), 0, middle).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 8'000);
}

TEST_F(retries, DoNotFollowAPushbackWithAnotherStatus) {
  EXPECT_EQ(fail(pushed_back(status_code::internal, 1s)).next, action::fail);
}

TEST_F(retries, EndWhenHalfOfTheTokensAreGone) {
  for (int i = 0; i < 4; ++i) {
    retry_state plan(four_tries(), tokens_);
    plan.begin();
    EXPECT_EQ(plan.failed(ended(status_code::unavailable), 0, middle).next, action::retry) << i;
  }
  // From 6 to 5 of 10: at the threshold, which is not above it.
  EXPECT_EQ(fail(ended(status_code::unavailable)).next, action::fail);
}

TEST_F(retries, ComeBackAfterSuccesses) {
  for (int i = 0; i < 5; ++i) tokens_->failed();
  for (int i = 0; i < 3; ++i) plan_.committed_ended(status_code::ok);  // half a token each
  EXPECT_EQ(tokens_->tokens(), 6'500);
  EXPECT_EQ(fail(ended(status_code::unavailable)).next, action::retry);
}

TEST_F(retries, CountTheEndOfACommittedAttemptByItsStatus) {
  plan_.committed_ended(status_code::unavailable);
  EXPECT_EQ(tokens_->tokens(), 9'000);
  plan_.committed_ended(status_code::internal);
  EXPECT_EQ(tokens_->tokens(), 9'000);
}

TEST(RetriesWithoutAThrottle, AreBoundedByTheirNumberAlone) {
  retry_state plan(four_tries(), nullptr);
  plan.begin();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(plan.failed(ended(status_code::unavailable), 0, middle).next, action::retry);
    plan.begin();
  }
  EXPECT_EQ(plan.failed(ended(status_code::unavailable), 0, middle).next, action::fail);
}

class hedges : public testing::Test {
 protected:
  hedges() { plan_.begin(); }
  next_step fail(const attempt_result& e, unsigned attempts_in_flight) {
    return plan_.failed(e, attempts_in_flight, middle);
  }
  std::shared_ptr<retry_throttle> tokens_ = std::make_shared<retry_throttle>(10, 500);
  retry_state plan_{three_hedges(), tokens_};
};

TEST_F(hedges, FollowEachOtherAtTheirDelayUpToTheirNumber) {
  EXPECT_EQ(plan_.next_hedge(), std::optional<duration>(50ms));
  plan_.begin();
  EXPECT_EQ(plan_.next_hedge(), std::optional<duration>(50ms));
  EXPECT_EQ(plan_.begin(), 2u);
  EXPECT_EQ(plan_.next_hedge(), std::nullopt);
}

TEST_F(hedges, FollowANonFatalEndAtOnce) {
  const next_step s = fail(ended(status_code::unavailable), 0);
  EXPECT_EQ(s.next, action::retry);
  EXPECT_EQ(s.pause, 0ms);
}

TEST_F(hedges, EndWithAFatalStatusThoughOthersAreOnTheirWay) {
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::internal), 1).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 10'000);
}

TEST_F(hedges, AreWaitedForWhenNoMoreMayBegin) {
  plan_.begin();
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable), 2).next, action::wait);
  EXPECT_EQ(fail(ended(status_code::unavailable), 1).next, action::wait);
  EXPECT_EQ(fail(ended(status_code::unavailable), 0).next, action::fail);
}

TEST_F(hedges, BeginNoMoreWhenOneWasDisplacedAndThoseOnTheirWayGoOn) {
  plan_.begin();
  attempt_result e = ended(status_code::resource_exhausted);
  e.displaced = true;
  EXPECT_EQ(fail(e, 1).next, action::wait);
  EXPECT_EQ(plan_.next_hedge(), std::nullopt);
  EXPECT_EQ(fail(e, 0).next, action::fail);
  EXPECT_EQ(tokens_->tokens(), 10'000);
}

TEST_F(hedges, WaitAsLongAsTheServerSays) {
  const next_step s = fail(pushed_back(status_code::unavailable, 3s), 0);
  EXPECT_EQ(s.next, action::retry);
  EXPECT_EQ(s.pause, 3s);
}

TEST_F(hedges, BeginNoMoreWhenTheServerSaysSoAndThoseOnTheirWayGoOn) {
  plan_.begin();
  EXPECT_EQ(fail(pushed_back(status_code::unavailable, std::nullopt), 1).next, action::wait);
  EXPECT_EQ(plan_.next_hedge(), std::nullopt);
  EXPECT_FALSE(plan_.attempt_allowed());
  EXPECT_EQ(fail(ended(status_code::unavailable), 0).next, action::fail);
}

TEST_F(hedges, BeginNoMoreWhenHalfOfTheTokensAreGone) {
  for (int i = 0; i < 4; ++i) tokens_->failed();
  EXPECT_TRUE(plan_.attempt_allowed());
  plan_.begin();
  EXPECT_EQ(fail(ended(status_code::unavailable), 1).next, action::wait);
  EXPECT_FALSE(plan_.attempt_allowed());
}

TEST_F(hedges, AreNotSentAtTheirTimeWhenOthersHaveSpentTheTokens) {
  for (int i = 0; i < 5; ++i) tokens_->failed();
  EXPECT_FALSE(plan_.attempt_allowed());
}

TEST_F(hedges, TakeFromTheBudget) {
  retry_budget budget(0, 1);
  retry_state plan(three_hedges(), nullptr, &budget);
  plan.begin();
  EXPECT_TRUE(plan.attempt_allowed());
  plan.begin();
  EXPECT_FALSE(plan.attempt_allowed());
  EXPECT_TRUE(plan.take_throttled());
  EXPECT_EQ(plan.next_hedge(), std::nullopt);
}

TEST(RetryThrottle, HoldsNoLessThanNothingAndNoMoreThanAllTokens) {
  retry_throttle t(2, 300);
  for (int i = 0; i < 5; ++i) t.failed();
  EXPECT_EQ(t.tokens(), 0);
  EXPECT_FALSE(t.allows());
  for (int i = 0; i < 20; ++i) t.succeeded();
  EXPECT_EQ(t.tokens(), 2'000);
}

TEST(RetryThrottle, StaysAsFullAsItWasWhenItsConfigurationChanges) {
  retry_throttle before(10, 500);
  before.failed();
  before.failed();
  const retry_throttle after(100, 100, before);
  EXPECT_EQ(after.tokens(), 80'000);
}

}  // namespace
}  // namespace coracle::client::retry_state_test
