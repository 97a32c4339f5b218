#include "http2/flow_window.hpp"

#include <gtest/gtest.h>

namespace coracle::http2::flow_window_test {
namespace {

TEST(Http2SendWindow, GrowsUpToTheMaximumAndNotBeyond) {
  send_window w(0);
  EXPECT_TRUE(w.add(window_bytes_max));
  EXPECT_FALSE(w.add(1));
  EXPECT_EQ(w.available(), window_bytes_max);
}

TEST(Http2SendWindow, MayGoAsFarBelowZeroAsItsSizeCan) {
  send_window w(window_bytes_max);
  w.take(window_bytes_max);
  EXPECT_TRUE(w.add(-std::int64_t{window_bytes_max}));
  EXPECT_EQ(w.bytes(), -0x7fffffff);
  EXPECT_EQ(w.available(), 0u);
  EXPECT_TRUE(w.add(window_bytes_max));
  EXPECT_EQ(w.available(), 0u);
  EXPECT_TRUE(w.add(1));
  EXPECT_EQ(w.available(), 1u);
}

TEST(Http2ReceiveWindow, RefusesWhatItHasNotOpened) {
  receive_window w(10);
  EXPECT_TRUE(w.take(10));
  EXPECT_TRUE(w.take(0));
  EXPECT_FALSE(w.take(1));
}

TEST(Http2ReceiveWindow, AnnouncesCreditAtHalfItsSize) {
  receive_window w(10);
  EXPECT_TRUE(w.take(10));
  w.give_back(4);
  EXPECT_EQ(w.announce(), 0u);
  EXPECT_FALSE(w.take(1)) << "credit that was not announced does not count";
  w.give_back(1);
  EXPECT_EQ(w.announce(), 5u);
  EXPECT_EQ(w.announce(), 0u);
  EXPECT_TRUE(w.take(5));
}

TEST(Http2ReceiveWindow, OfSizeZeroOrOneAnnouncesNoZero) {
  receive_window none(0);
  EXPECT_EQ(none.announce(), 0u);
  receive_window one(1);
  EXPECT_EQ(one.announce(), 0u);
  EXPECT_TRUE(one.take(1));
  one.give_back(1);
  EXPECT_EQ(one.announce(), 1u);
}

TEST(Http2ReceiveWindow, ResizeMayLeaveItNegative) {
  receive_window w(100);
  EXPECT_TRUE(w.take(60));
  w.resize(50);
  EXPECT_EQ(w.open_bytes(), -10);
  EXPECT_TRUE(w.take(0)) << "an empty frame needs no window";
  EXPECT_FALSE(w.take(1));
  w.give_back(60);
  EXPECT_EQ(w.announce(), 60u);
  EXPECT_TRUE(w.take(50));
}

}  // namespace
}  // namespace coracle::http2::flow_window_test
