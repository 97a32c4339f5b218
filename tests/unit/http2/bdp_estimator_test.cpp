#include "http2/bdp_estimator.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace coracle::http2::bdp_estimator_test {
namespace {

using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::uint32_t start_bytes = 384u << 10;
constexpr std::uint32_t max_bytes = 16u << 20;

// A sender that always has data to send, over a line of the given bandwidth and delay; the window limits the
// bytes in flight. Time advances in steps of an eighth of the delay.
struct line {
  line(duration round_trip, double bytes_per_s) : delay(round_trip), bandwidth(bytes_per_s) {
    EXPECT_TRUE(of.answered(now += delay));  // our SETTINGS
  }
  [[nodiscard]] std::uint32_t window() const { return std::max(start_bytes, of.window_target_bytes()); }
  // Receives bytes for the given time.
  double run(duration for_so_long) {
    double all = 0;
    const duration step = delay / 8;
    for (const time_point until = now + for_so_long; now < until; now += step) {
      // Returns the window or the capacity of the line, whichever is less. Beyond a full line, a queue forms.
      const double seconds = std::chrono::duration<double>(step).count();
      const double rate = std::min(bandwidth, window() / std::chrono::duration<double>(delay).count());
      const auto bytes = static_cast<std::uint32_t>(rate * seconds);
      of.received(bytes);
      all += bytes;
      const double queue_s =
          std::max(0.0, window() / bandwidth - std::chrono::duration<double>(delay).count());
      if (of.should_probe(now, window(), max_bytes)) {
        ++questions;
        answer_at =
            now + delay + std::chrono::duration_cast<duration>(std::chrono::duration<double>(queue_s));
      }
      if (now >= answer_at) {
        EXPECT_TRUE(of.answered(now));
        answer_at = never;
      }
    }
    return all;
  }

  duration delay;
  double bandwidth;
  time_point now{};
  time_point answer_at = never;
  int questions = 0;
  bdp_estimator of{now};
};

TEST(BandwidthDelay, GrowsToTwiceWhatALongLineHolds) {
  line l(20ms, 125e6);  // 1 Gbit/s: 2.5 MB
  l.run(1s);
  EXPECT_GE(l.window(), 2 * 2'300'000u);
  EXPECT_LE(l.window(), 2 * 2'700'000u);
  EXPECT_GE(l.run(1s), 0.99 * 125e6);
}

TEST(BandwidthDelay, DoublesWithinAFewRoundTrips) {
  line l(20ms, 125e6);
  l.run(200ms);
  EXPECT_GE(l.window(), 4'000'000u);
}

// The queue that a window causes at the end of a full line does not enlarge the window.
TEST(BandwidthDelay, DoesNotTakeAQueueForALongerLine) {
  line l(500us, 0.3e9);  // 150 KB
  l.run(5s);
  EXPECT_EQ(l.window(), start_bytes);
}

TEST(BandwidthDelay, LeavesConnectionsWithinAMachineAsTheyAre) {
  line l(200us, 10e9);
  l.run(1s);
  EXPECT_EQ(l.window(), start_bytes);
}

TEST(BandwidthDelay, GrowsToItsBoundAndAsksNoMore) {
  line l(100ms, 10e9);
  l.run(5s);
  EXPECT_EQ(l.of.window_target_bytes(), max_bytes);
  const int asked = l.questions;
  l.run(5s);
  EXPECT_LE(l.questions, asked);
}

TEST(BandwidthDelay, AsksSeldomWhereNothingChanges) {
  line l(1ms, 10e6);
  l.run(60s);
  EXPECT_LE(l.questions, 20);
  EXPECT_EQ(l.of.window_target_bytes(), 0u);
}

TEST(BandwidthDelay, IsContentWithoutAnAnswer) {
  bdp_estimator of{time_point{}};
  for (int i = 0; i < 100; ++i) {
    of.received(1u << 20);
    EXPECT_FALSE(of.should_probe(time_point{} + i * 1ms, start_bytes, max_bytes))
        << "SETTINGS are not answered yet";
  }
  EXPECT_EQ(of.window_target_bytes(), 0u);
}

TEST(BandwidthDelay, TakesNoAnswerThatItDidNotAskFor) {
  bdp_estimator of{time_point{}};
  EXPECT_TRUE(of.answered(time_point{} + 1ms));
  EXPECT_FALSE(of.answered(time_point{} + 2ms));
}

// What a peer sends after an idle period says nothing about the line.
TEST(BandwidthDelay, AStreamThatPausesDoesNotGrow) {
  bdp_estimator of{time_point{}};
  time_point now = time_point{} + 20ms;
  EXPECT_TRUE(of.answered(now));
  for (int i = 0; i < 100; ++i) {
    of.received(start_bytes / 2);
    if (of.should_probe(now, start_bytes, max_bytes)) {
      EXPECT_TRUE(of.answered(now + 20ms));
    }
    now += 1s;
  }
  EXPECT_EQ(of.window_target_bytes(), 0u);
}

}  // namespace
}  // namespace coracle::http2::bdp_estimator_test
