#include "http2/closed_streams.hpp"

#include <gtest/gtest.h>

namespace coracle::http2::closed_streams_test {
namespace {

using enum stream_state;

TEST(Http2ClosedStreams, TellsHowAStreamWasClosed) {
  closed_streams closed;
  closed.remember(1, ended);
  closed.remember(3, reset_sent);
  closed.remember(5, reset_received);
  closed.remember(0x7fffffff, ended);
  EXPECT_EQ(closed.find(1), ended);
  EXPECT_EQ(closed.find(3), reset_sent);
  EXPECT_EQ(closed.find(5), reset_received);
  EXPECT_EQ(closed.find(0x7fffffff), ended);
  closed.remember(3, reset_received);
  EXPECT_EQ(closed.find(3), reset_received);
}

TEST(Http2ClosedStreams, AnIdThatNeverClosedWasSkipped) {
  closed_streams closed;
  closed.remember(1, ended);
  EXPECT_EQ(closed.find(3), skipped);
  EXPECT_EQ(closed.find(1 + 2 * closed_streams::entry_count), skipped);
}

TEST(Http2ClosedStreams, AHigherIdMakesALowerOneForgotten) {
  closed_streams closed;
  constexpr stream_id later = 1 + 2 * closed_streams::entry_count;
  closed.remember(later, ended);
  EXPECT_EQ(closed.find(1), forgotten);
  closed.remember(1, reset_sent);  // a long one that closes late
  EXPECT_EQ(closed.find(1), forgotten);
  EXPECT_EQ(closed.find(later), ended);
}

TEST(Http2ClosedStreams, TheLatestAreAllRemembered) {
  closed_streams closed;
  for (stream_id id = 1; id < 100000; id += 2) closed.remember(id, reset_sent);
  for (std::size_t i = 0; i < closed_streams::entry_count; ++i)
    EXPECT_EQ(closed.find(static_cast<stream_id>(99999 - 2 * i)), reset_sent);
}

TEST(Http2ClosedStreams, WhatIsReleasedIsForgottenAndWhatComesLaterIsNot) {
  closed_streams closed;
  closed.remember(1, ended);
  closed.remember(5, reset_sent);
  closed.release();
  EXPECT_EQ(closed.find(1), forgotten);
  EXPECT_EQ(closed.find(3), forgotten);
  EXPECT_EQ(closed.find(5), forgotten);
  EXPECT_EQ(closed.find(7), skipped);
  closed.remember(9, reset_sent);
  EXPECT_EQ(closed.find(7), skipped);
  EXPECT_EQ(closed.find(9), reset_sent);
  closed.release();
  closed.release();
  EXPECT_EQ(closed.find(9), forgotten);
}

}  // namespace
}  // namespace coracle::http2::closed_streams_test
