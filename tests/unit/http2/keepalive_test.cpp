// PINGs that check whether the peer is alive, and PINGs that a peer sends too often (gRFC A8, A9).
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::keepalive_test {
namespace {

using namespace test;
using namespace test::frames;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""h;

const std::string answer = ping("alive?!!", true);
const std::string asks = "PING 7020101876389454113\n";

limits asking(bool without_calls = true) {
  limits l;
  l.keepalive.time = 10s;
  l.keepalive.timeout = 5s;
  l.keepalive.without_calls = without_calls;
  return l;
}

struct asked : session {
  explicit asked(role r, const limits& l) : session(r, l, [](session&, const event&) {}) {
    feed(r == role::server ? from_client() : from_server());
    take_frames();
  }
  std::string after(duration d) {
    now += d;
    engine.on_timeout(now);
    while (engine.next().type != event::kind::none) continue;
    return take_frames();
  }
};

TEST(Http2Keepalive, AsksAPeerThatHasBeenSilent) {
  asked s(role::server, asking());
  EXPECT_EQ(s.after(9s), "");
  EXPECT_EQ(s.after(1s), asks);
  EXPECT_EQ(s.engine.next_timeout(), s.now + 5s);
  s.feed(answer);
  EXPECT_EQ(s.after(5s), "");
  EXPECT_EQ(s.engine.next_timeout(), s.now + 5s) << "10 s from the answer on";
  EXPECT_EQ(s.after(5s), asks);
  EXPECT_EQ(s.engine.keepalives_sent(), 2u);
}

TEST(Http2Keepalive, AnyByteIsAnAnswer) {
  asked s(role::server, asking());
  EXPECT_EQ(s.after(10s), asks);
  s.now += 4s;
  s.feed(request(1));
  EXPECT_EQ(s.after(1s), "");
  EXPECT_FALSE(s.engine.failed());
  EXPECT_EQ(s.after(9s), asks);
}

TEST(Http2Keepalive, GivesUpAPeerThatDoesNotAnswer) {
  asked s(role::server, asking());
  EXPECT_EQ(s.after(10s), asks);
  EXPECT_EQ(s.after(4s), "");
  EXPECT_EQ(s.after(1s), "GOAWAY 0 NO_ERROR 'the peer did not answer a keepalive PING'\n");
  EXPECT_TRUE(s.engine.failed());
}

TEST(Http2Keepalive, SleepsWithoutCallsAndWakesWithTheNext) {
  asked c(role::client, asking(false));
  EXPECT_EQ(c.after(10s), "");
  EXPECT_EQ(c.engine.next_timeout(), never);
  c.now += 1h;
  c.open_and_request(true);
  c.take_frames();
  EXPECT_LE(c.engine.next_timeout(), c.now) << "it has been silent for longer than that";
  EXPECT_EQ(c.after(0s), asks);
}

TEST(Http2Keepalive, AnswersToNothingAreControlFrames) {
  limits l = asking();
  l.control_frames_burst = 10;
  asked s(role::server, l);
  for (int i = 0; i < 20; ++i) s.feed(answer);
  EXPECT_TRUE(s.engine.failed());
}

// --- the peer's

limits strict() {
  limits l;
  l.pings.min_interval = 5min;
  return l;
}

TEST(Http2PingStrikes, TheThirdStrikeEndsTheConnection) {
  asked s(role::server, strict());
  s.feed(request(1));
  for (int i = 0; i < 3; ++i) s.feed(ping("12345678"));  // one, and two strikes
  EXPECT_FALSE(s.engine.failed());
  s.take_frames();
  s.feed(ping("12345678"));
  EXPECT_EQ(s.take_frames(), "GOAWAY 1 ENHANCE_YOUR_CALM 'too_many_pings'\n");
}

TEST(Http2PingStrikes, WhoKeepsTheIntervalHasNone) {
  asked s(role::server, strict());
  s.feed(request(1));
  for (int i = 0; i < 10; ++i) {
    s.now += 5min;
    s.feed(ping("12345678"));
  }
  EXPECT_FALSE(s.engine.failed());
}

TEST(Http2PingStrikes, WithoutCallsTwoHoursAreTheInterval) {
  asked s(role::server, strict());
  for (int i = 0; i < 4; ++i) {
    s.now += 1h;
    s.feed(ping("12345678"));
  }
  EXPECT_TRUE(s.engine.failed());
  limits l = strict();
  l.pings.without_calls = true;
  asked permitted(role::server, l);
  for (int i = 0; i < 10; ++i) {
    permitted.now += 5min;
    permitted.feed(ping("12345678"));
  }
  EXPECT_FALSE(permitted.engine.failed());
}

TEST(Http2PingStrikes, WhatWeSendForgivesThem) {
  asked s(role::server, strict());
  s.feed(request(1));
  s.respond(s.stream(), false);
  for (int i = 0; i < 50; ++i) {
    s.send_data(s.stream(), "abc", false);
    s.engine.produce();
    s.feed(ping("12345678"));
    s.feed(ping("12345678"));
  }
  EXPECT_FALSE(s.engine.failed());
}

TEST(Http2PingStrikes, AServersPingsAreNotCounted) {
  asked c(role::client, strict());
  for (int i = 0; i < 50; ++i) c.feed(ping("12345678"));
  EXPECT_FALSE(c.engine.failed());
}

}  // namespace
}  // namespace coracle::http2::keepalive_test
