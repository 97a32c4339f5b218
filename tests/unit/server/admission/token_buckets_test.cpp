#include "server/admission/token_buckets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace coracle::server_internal::token_buckets_test {
namespace {

using namespace std::chrono_literals;

time_point at(duration d) { return time_point(1h + d); }
constexpr duration none = duration::zero();

TEST(shared_token_bucket, ABurstIsAcceptedAndThenTheRate) {
  shared_token_bucket b(token_bucket_rule(10, 3));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(b.take(at(0ms)), none);
  EXPECT_EQ(b.take(at(0ms)), 100ms) << "until the next token";
  EXPECT_EQ(b.take(at(40ms)), 60ms) << "refused calls take none";
  EXPECT_EQ(b.take(at(100ms)), none);
  EXPECT_EQ(b.take(at(100ms)), 100ms);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(b.take(at(10s)), none) << "full again, and no fuller";
  EXPECT_EQ(b.take(at(10s)), 100ms);
}

TEST(shared_token_bucket, RatesMayBeTinyAndHuge) {
  shared_token_bucket slow(token_bucket_rule(1e-4, 1e9));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(slow.take(at(0s)), none);
  shared_token_bucket one(token_bucket_rule(1e-4, 1));
  EXPECT_EQ(one.take(at(0s)), none);
  EXPECT_EQ(one.take(at(0s)), 10'000s);
  shared_token_bucket fast(token_bucket_rule(1e7, 1));
  EXPECT_EQ(fast.take(at(0s)), none);
  EXPECT_EQ(fast.take(at(0s)), 100ns);
  shared_token_bucket less_than_one(token_bucket_rule(10, 0.5));
  EXPECT_EQ(less_than_one.take(at(0s)), none) << "a bucket holds at least one";
}

// Never more than rate * t + burst in any time t.
void expect_limited(const std::vector<time_point>& accepted, double rate, double burst) {
  for (std::size_t i = 0; i < accepted.size(); ++i)
    for (std::size_t j = i; j < accepted.size(); ++j) {
      const double t = std::chrono::duration<double>(accepted[j] - accepted[i]).count();
      ASSERT_LE(static_cast<double>(j - i + 1), rate * t + burst + 1e-6) << i << " to " << j;
    }
}

TEST(shared_token_bucket, NoTimeHasMoreCallsThanRateAndBurst) {
  std::mt19937_64 random(3);
  for (const auto& [rate, burst] : std::vector<std::pair<double, double>>{{7, 1}, {100, 10}, {3, 2.5}}) {
    shared_token_bucket b(token_bucket_rule(rate, burst));
    std::vector<time_point> accepted;
    time_point now = at(0s);
    for (int i = 0; i < 3'000; ++i) {
      now += std::chrono::microseconds(random() % (random() % 8 == 0 ? 500'000 : 20'000));
      if (b.take(now) == none) accepted.push_back(now);
    }
    EXPECT_GT(accepted.size(), 50u);
    expect_limited(accepted, rate, burst);
  }
}

// A client that calls whenever it is told to gets the whole rate.
TEST(shared_token_bucket, ACallAfterItsWaitIsAccepted) {
  shared_token_bucket b(token_bucket_rule(30, 2));
  time_point now = at(0s);
  int accepted = 0;
  while (now < at(10s)) {
    const duration wait = b.take(now);
    if (wait == none) ++accepted;
    now += wait;
  }
  EXPECT_NEAR(accepted, 302, 1);
}

TEST(shared_token_bucket, ThreadsTakeNoTokenTwice) {
  shared_token_bucket b(token_bucket_rule(1, 10'000));
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 5'000; ++n) accepted += b.take(at(0s)) == none;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(accepted, 10'000);
}

TEST(token_buckets, EachKeyHasOne) {
  token_buckets b(token_bucket_rule(10, 1));
  EXPECT_EQ(b.take(1, at(0s)), none);
  EXPECT_EQ(b.take(1, at(0s)), 100ms);
  EXPECT_EQ(b.take(2, at(0s)), none);
  EXPECT_EQ(b.take(1, at(100ms)), none);
}

// Even if far more keys come than there are buckets.
TEST(token_buckets, NoKeyGetsMoreThanItsRateHoweverManyThereAre) {
  constexpr double rate = 2;
  constexpr double burst = 3;
  token_buckets b(token_bucket_rule(rate, burst));
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> watched(20);
  for (std::uint64_t& key : watched) key = random();
  std::map<std::uint64_t, std::vector<time_point>> accepted;
  time_point now = at(0s);
  for (int i = 0; i < 1'000'000; ++i) {
    now += 20us;
    const std::uint64_t key = random() % 50 == 0 ? watched[random() % watched.size()] : random();
    if (b.take(key, now) == none && std::ranges::count(watched, key)) accepted[key].push_back(now);
  }
  for (const auto& [key, times] : accepted) expect_limited(times, rate, burst);
  EXPECT_EQ(accepted.size(), watched.size()) << "each gets something";
}

TEST(token_buckets, AKeyGetsItsRateWhileThereAreFewerThanBuckets) {
  token_buckets b(token_bucket_rule(2, 3));
  int accepted = 0;
  for (int second = 0; second < 100; ++second)
    for (std::uint64_t key = 0; key < 1'000; ++key)
      for (int i = 0; i < 3; ++i) accepted += b.take(key, at(std::chrono::seconds(second))) == none;
  EXPECT_EQ(accepted, 1'000 * (3 + 99 * 2));
}

TEST(token_buckets, ThreadsTakeNoTokenTwice) {
  token_buckets b(token_bucket_rule(1e-3, 100));
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < 5'000; ++n) accepted += b.take(n % 10, at(0s)) == none;
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(accepted, 10 * 100);
}

// What is forgotten was full: a caller that uses up its rate keeps its bucket while others come and go.
TEST(token_buckets, FullBucketsAreForgottenFirst) {
  token_buckets b(token_bucket_rule(1, 2));
  time_point now = at(0s);
  EXPECT_EQ(b.take(1, now), none);
  EXPECT_EQ(b.take(1, now), none);
  for (std::uint64_t key = 2; key < 2 + token_buckets::buckets_max / 4; ++key)
    EXPECT_EQ(b.take(key, now), none);
  EXPECT_NE(b.take(1, now), none);
  now += 3s;
  for (std::uint64_t key = 1; key < 10; ++key) {
    EXPECT_EQ(b.take(key, now), none);
    EXPECT_EQ(b.take(key, now), none);
    EXPECT_NE(b.take(key, now), none);
  }
}

}  // namespace
}  // namespace coracle::server_internal::token_buckets_test
