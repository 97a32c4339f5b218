#include "client/call/call_throttle.hpp"

#include <gtest/gtest.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

namespace coracle::client::call_throttle_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t lowest = 0;  // of what random() returns: refuses what has any probability

struct throttled {
  void count(int n, bool accepted) {
    for (int i = 0; i < n; ++i) throttle.count(now, accepted);
  }
  // Of n calls, those that may begin; their attempts do not end.
  int admitted(int n) {
    int admitted = 0;
    for (int i = 0; i < n; ++i) admitted += throttle.admits(now, random());
    return admitted;
  }
  call_throttle throttle;
  time_point now{1000s};
  std::mt19937_64 random{1};
};

TEST(CallThrottle, AdmitsAllWhileServersAcceptHalf) {
  throttled t;
  EXPECT_TRUE(t.throttle.admits(t.now, lowest));
  t.count(500, true);
  t.count(500, false);
  EXPECT_TRUE(t.throttle.admits(t.now, lowest));
  t.count(1, false);
  EXPECT_FALSE(t.throttle.admits(t.now, lowest));
}

// The probability is (requests - 2 * accepted) / (requests + 8), of which what is refused is a part.
TEST(CallThrottle, RefusesTheExcess) {
  for (const int accepted : {0, 100, 300, 450}) {
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
      throttled t;
      t.random.seed(seed);
      t.count(accepted, true);
      t.count(1000 - accepted, false);
      refused += 1 - t.admitted(1);
    }
    const double expected = (1000.0 - 2 * accepted) / 1008;
    const double deviation = std::sqrt(expected * (1 - expected) / 2000);
    EXPECT_NEAR(refused / 2000.0, expected, 5 * deviation + 1e-9) << accepted;
  }
}

TEST(CallThrottle, IsNotMovedByFewFailures) {
  throttled t;
  t.count(1, false);
  const double ninth = 1.0 / 9;
  const auto below = static_cast<std::uint64_t>(std::ldexp(ninth - 0.001, 64));
  const auto above = static_cast<std::uint64_t>(std::ldexp(ninth + 0.001, 64));
  throttled same = t;
  EXPECT_FALSE(t.throttle.admits(t.now, below));
  EXPECT_TRUE(same.throttle.admits(same.now, above));
}

// Of an outage of a minute and what follows it, with calls at a constant rate: what is sent in its last
// second, and the seconds until no call is refused any more.
struct outage {
  int last_sent = 0;
  int seconds_to_recover = 0;
};
outage outage_with(int calls_per_second) {
  throttled t;
  outage result;
  const auto second = [&](bool works) {
    t.now += 1s;
    int sent = 0;
    for (int i = 0; i < calls_per_second; ++i) {
      if (t.admitted(1) == 0) continue;
      ++sent;
      t.count(1, works);
    }
    return sent;
  };
  for (int i = 0; i < 60; ++i) result.last_sent = second(false);
  do ++result.seconds_to_recover;
  while (second(true) != calls_per_second && result.seconds_to_recover < 1000);
  return result;
}

TEST(CallThrottle, AsksNowAndThenWhetherServersAreBack) {
  for (const int rate : {10, 100, 1000, 10'000}) {
    const outage o = outage_with(rate);
    EXPECT_LE(o.last_sent, 10) << rate;
    EXPECT_LE(o.seconds_to_recover, rate <= 1000 ? 8 : 12) << rate;
    EXPECT_GE(o.seconds_to_recover, 2) << rate;
  }
}

// The server accepts 300 of the calls of each second, of which there are 3,000.
TEST(CallThrottle, SendsAServerAtMostTwiceWhatItAccepts) {
  throttled t;
  int sent = 0;
  for (int i = 0; i < 1000; ++i) {
    t.now += 100ms;
    int accepted = 0;
    for (int k = 0; k < 300; ++k) {
      if (t.admitted(1) == 0) continue;
      sent += i >= 500;
      t.count(1, ++accepted <= 30);
    }
  }
  EXPECT_NEAR(sent / 50.0, 600, 60);
}

TEST(CallThrottle, ForgetsWhatIsOlderThanItsWindow) {
  throttled t;
  t.count(100, false);
  t.now += 800ms;
  t.count(10, true);
  t.now += 1000ms;
  EXPECT_FALSE(t.throttle.admits(t.now, lowest));
  t.now += 200ms;
  EXPECT_TRUE(t.throttle.admits(t.now, lowest));
  EXPECT_EQ(t.throttle.requests(), 11u) << "ten accepted, and the one that was refused";
  EXPECT_EQ(t.throttle.accepted(), 10u);
  t.now += 1000s;
  EXPECT_TRUE(t.throttle.admits(t.now, lowest));
  EXPECT_EQ(t.throttle.requests(), 0u);
}

TEST(CallThrottle, TakesTimesThatAreALittleOld) {
  throttled t;
  t.count(10, false);
  t.now -= 5s;
  t.count(10, false);
  EXPECT_EQ(t.throttle.requests(), 20u);
}

TEST(CallThrottle, AcceptedIsWhatAServerThatWorksAnswers) {
  for (int code = 0; code <= 16; ++code) {
    const bool refused = code == 4 || code == 8 || code == 14;
    EXPECT_EQ(call_throttle::is_accepted(static_cast<status_code>(code)), !refused) << code;
  }
}

}  // namespace
}  // namespace coracle::client::call_throttle_test
