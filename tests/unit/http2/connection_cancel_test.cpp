// How a client cancels: at most as many streams at once as servers tolerate.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace coracle::http2::connection_cancel_test {
namespace {

using namespace test;
using namespace test::frames;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

limits few_resets() {
  limits l;
  l.own_early_resets_burst = 3;
  l.own_early_resets_per_second = 1;
  l.own_resets_burst = 5;
  l.own_resets_per_second = 100;
  return l;
}

struct client : session {
  explicit client(const limits& l, const std::string& greeting = from_server())
      : session(role::client, l, [](session&, const event&) {}) {
    feed(greeting);
    take_frames();
  }
  // Opens streams whose requests are complete, one by one.
  std::vector<stream_ref> request(std::size_t n) {
    std::vector<stream_ref> made;
    for (std::size_t i = 0; i < n; ++i) made.push_back(open_and_request(true));
    take_frames();
    return made;
  }
  void cancel(const std::vector<stream_ref>& streams) {
    for (const stream_ref s : streams) engine.release(s);
  }
  void wait(duration d) {
    now += d;
    engine.on_timeout(now);
    pump();
  }
};

std::string resets(std::initializer_list<int> ids) {
  std::string all;
  for (const int id : ids) all += "RST_STREAM " + std::to_string(id) + " CANCEL\n";
  return all;
}

TEST(Http2Cancel, FewNewStreamsAreResetAtOnceAndTheOthersWhenTheyAreOlder) {
  client c(few_resets());
  c.cancel(c.request(6));
  EXPECT_EQ(c.take_frames(), resets({1, 3, 5}));
  EXPECT_EQ(c.engine.open_streams(), 0u) << "its user has released them";
  EXPECT_EQ(c.engine.next_timeout(), c.now + 10ms);
  c.wait(90ms);
  EXPECT_EQ(c.take_frames(), "");
  c.wait(10ms);
  EXPECT_EQ(c.take_frames(), resets({7, 9, 11}));
  EXPECT_EQ(c.engine.resets_sent(), 6u);
  c.wait(1s);
  EXPECT_EQ(c.take_frames(), "");
}

TEST(Http2Cancel, AStreamThatEndsMeanwhileNeedsNoReset) {
  client c(few_resets());
  c.cancel(c.request(5));
  EXPECT_EQ(c.take_frames(), resets({1, 3, 5}));
  c.feed(response(7, end_both) + rst_stream(9, error_code::internal_error));
  c.wait(1s);
  EXPECT_EQ(c.take_frames(), "");
  EXPECT_EQ(c.events(), "") << "its user wants no more events";
}

TEST(Http2Cancel, AnsweredStreamsAndOldOnesHaveTheOtherLimit) {
  client c(few_resets());
  const auto old = c.request(7);
  c.feed(response(1));
  c.cancel(old);
  EXPECT_EQ(c.take_frames(), resets({1, 3, 5, 7}));
  c.wait(200ms);
  EXPECT_EQ(c.take_frames(), resets({9, 11, 13}));
}

TEST(Http2Cancel, ResetsOfAllKindsHaveARate) {
  client c(few_resets());
  const auto streams = c.request(30);
  c.wait(200ms);
  c.cancel(streams);
  EXPECT_EQ(c.take_frames(), resets({1, 3, 5, 7, 9}));
  c.wait(10ms);
  EXPECT_EQ(c.take_frames(), resets({11}));
  c.wait(30ms);
  EXPECT_EQ(c.take_frames(), resets({13, 15, 17}));
}

TEST(Http2Cancel, StreamsThatWaitForTheirResetCountForThePeersLimit) {
  client c(few_resets(), settings({{3, 4}}) + settings_ack());
  c.cancel(c.request(4));
  EXPECT_EQ(c.take_frames(), resets({1, 3, 5}));
  c.request(3);
  EXPECT_FALSE(c.engine.can_open());
  c.feed(response(7, end_both));
  EXPECT_EQ(c.events(), "slots\n");
  EXPECT_TRUE(c.engine.can_open());
}

TEST(Http2Cancel, AStreamThatWaitsForItsResetSendsNothingMore) {
  client c(few_resets());
  c.cancel(c.request(3));
  const stream_ref s = c.open_and_request(false);
  ASSERT_TRUE(c.send_data(s, std::string(1000, 'x'), true));
  c.take_frames();
  const stream_ref blocked = c.open_and_request(false);
  ASSERT_TRUE(c.send_data(blocked, std::string(100'000, 'x'), true));
  c.cancel({s, blocked});
  c.take_frames();
  c.feed(window_update(0, 1'000'000) + window_update(9, 1'000'000));
  EXPECT_EQ(c.take_frames(), "");
  EXPECT_FALSE(c.engine.has_queued());
  c.wait(200ms);
  EXPECT_EQ(c.take_frames(), resets({7, 9}));
}

TEST(Http2Cancel, WhatArrivesMeanwhileKeepsTheTable) {
  client c(few_resets());
  c.cancel(c.request(4));
  c.take_frames();
  const std::string entering = std::string(
      "\x40\x01"
      "d\x01"
      "4",
      5);
  c.feed(headers(7, response_block() + entering) + data(7, "message"));
  c.request(1);
  c.feed(headers(9, response_block() + "\xbe"));
  EXPECT_EQ(c.events(), "headers 9 [:status=200 d=4]\n");
}

TEST(Http2Cancel, StreamsThatWaitEndWithTheirConnection) {
  client c(few_resets());
  c.cancel(c.request(5));
  c.feed(goaway(0, error_code::enhance_your_calm, "calm"));
  c.wait(1s);
  EXPECT_EQ(c.events(), "goaway ENHANCE_YOUR_CALM 'calm'\n");
  client lost(few_resets());
  lost.cancel(lost.request(5));
  lost.engine.feed_end(lost.now);
  lost.pump();
  EXPECT_EQ(lost.events(), "failed INTERNAL_ERROR peer: connection closed\n");
}

}  // namespace
}  // namespace coracle::http2::connection_cancel_test
