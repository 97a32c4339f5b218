#include "http2/token_bucket.hpp"

#include <gtest/gtest.h>

namespace coracle::http2::token_bucket_test {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

struct bucket {
  bucket(std::uint32_t burst, std::uint32_t per_second, time_point now)
      : tokens(now), rate{burst, per_second} {}
  bool take(time_point now) { return tokens.take(now, rate); }
  token_bucket tokens;
  token_rate rate;
};

int drawn(bucket& b, time_point now) {
  int n = 0;
  while (n < 1000 && b.take(now)) ++n;
  return n;
}

TEST(Http2TokenBucket, GivesItsBurstAtOnceAndItsRateAfterwards) {
  time_point now{};
  bucket b(10, 4, now);
  EXPECT_EQ(drawn(b, now), 10);
  EXPECT_EQ(drawn(b, now + 249ms), 0);
  EXPECT_EQ(drawn(b, now + 250ms), 1);
  EXPECT_EQ(drawn(b, now + 1s), 3);
}

TEST(Http2TokenBucket, NeverHoldsMoreThanItsBurst) {
  time_point now{};
  bucket b(10, 4, now);
  EXPECT_TRUE(b.take(now));
  EXPECT_EQ(drawn(b, now + 3600s), 10);
}

TEST(Http2TokenBucket, FractionsAreNotLost) {
  time_point now{};
  bucket b(10, 1, now);
  EXPECT_EQ(drawn(b, now), 10);
  for (int i = 1; i <= 9; ++i) EXPECT_FALSE(b.take(now + 100ms * i));
  EXPECT_TRUE(b.take(now + 1s));
}

TEST(Http2TokenBucket, TimeThatStandsStillOrARateOfZeroGivesNothing) {
  time_point now{};
  bucket b(1, 0, now);
  EXPECT_EQ(drawn(b, now), 1);
  EXPECT_EQ(drawn(b, now + 3600s), 0);
}

}  // namespace
}  // namespace coracle::http2::token_bucket_test
