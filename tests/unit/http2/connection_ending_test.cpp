// How connections end: failure, drain, timeouts, and a peer that disconnects.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::connection_ending_test {
namespace {

using namespace test;
using namespace test::frames;

const std::string head1 = "headers 1 [:method=POST :scheme=http :path=/a.B/C :authority=h]\n";
const std::string ack_of_drain = ping("coracle!", true);
const std::string first_goaway = "GOAWAY 2147483647 NO_ERROR\nPING 7165071294775190817\n";

struct busy_server : session {
  explicit busy_server(const std::string& input) : session(role::server, {}, [](session&, const event&) {}) {
    feed(from_client() + input);
    take_frames();
  }
};

TEST(Http2Ending, FailTellsThePeerAndEveryStream) {
  busy_server s(request(1) + request(3, end_both));
  s.respond(s.stream(1), true);
  s.take_frames();
  s.engine.fail(error_code::enhance_your_calm, "too_many_pings");
  s.pump();
  EXPECT_EQ(s.take_frames(), "GOAWAY 3 ENHANCE_YOUR_CALM 'too_many_pings'\n");
  EXPECT_TRUE(s.events().ends_with(
      "reset 1 ENHANCE_YOUR_CALM user\nfailed ENHANCE_YOUR_CALM user: closed by the user\n"));
  EXPECT_TRUE(s.engine.failed());
  EXPECT_EQ(s.engine.open_streams(), 0u);
  EXPECT_EQ(s.engine.next_timeout(), never);
}

TEST(Http2Ending, NothingWorksAfterFailure) {
  busy_server s(request(1) + request(3));
  s.engine.fail(error_code::internal_error, "");
  s.pump();
  s.take_frames();
  const std::string before = s.events();
  s.feed(request(5) + "garbage");
  EXPECT_FALSE(s.respond(s.stream(), true));
  s.engine.drain();
  s.engine.drain_now();
  s.engine.fail(error_code::internal_error, "");
  s.engine.feed_end(s.now);
  s.engine.release(s.stream(0));
  s.engine.release(s.stream(1));
  s.pump();
  EXPECT_EQ(s.events(), before);
  EXPECT_EQ(s.take_frames(), "");
}

TEST(Http2Ending, AUserMayFailTheConnectionFromWithinAnEvent) {
  const story s =
      play({.input = from_client() + request(1) + request(3), .react = [](session& at, const event& e) {
              if (e.type == event::kind::headers) at.engine.fail(error_code::internal_error, "no more");
            }});
  EXPECT_EQ(s.events,
            head1 + "reset 1 INTERNAL_ERROR user\nfailed INTERNAL_ERROR user: closed by the user\n");
}

TEST(Http2Ending, AGoneClientCancelsItsStreams) {
  busy_server s(request(1));
  s.engine.feed_end(s.now);
  s.pump();
  EXPECT_EQ(s.events(), head1 + "reset 1 CANCEL peer\nfailed CANCEL peer: connection closed\n");
  EXPECT_EQ(s.take_frames(), "");
}

TEST(Http2Ending, AGoneServerFailsItsStreams) {
  session s(role::client, {}, [](session&, const event&) {});
  s.open_and_request(true);
  s.open();
  s.engine.feed_end(s.now);
  s.pump();
  EXPECT_EQ(s.events(),
            "reset 1 INTERNAL_ERROR peer\nreset 0 INTERNAL_ERROR peer unprocessed\n"
            "failed INTERNAL_ERROR peer: connection closed\n");
}

TEST(Http2Ending, WhatNeverLeftForAGoneServerMayBeRetried) {
  session s(role::client, {}, [](session&, const event&) {});
  s.open_and_request(true);
  s.take_frames();
  s.engine.output_taken();
  s.open_and_request(true);
  s.engine.feed_end(s.now);
  s.pump();
  EXPECT_EQ(s.events(),
            "reset 1 INTERNAL_ERROR peer\nreset 3 INTERNAL_ERROR peer unprocessed\n"
            "failed INTERNAL_ERROR peer: connection closed\n");
  EXPECT_EQ(s.take_frames(), "") << "nor does it leave any more";
}

TEST(Http2Ending, WhatWaitsToLeaveWhenTheConnectionFailsStillLeaves) {
  session s(role::client, {}, [](session&, const event&) {});
  s.take_frames();
  s.engine.output_taken();
  s.open_and_request(true);
  s.engine.fail(error_code::internal_error, "enough");
  s.pump();
  EXPECT_TRUE(s.events().starts_with("reset 1 INTERNAL_ERROR user\n")) << s.events();
  EXPECT_NE(s.take_frames().find("HEADERS 1"), std::string::npos);
}

TEST(Http2Ending, ADrainTakesTwoSteps) {
  busy_server s(request(1));
  s.engine.drain();
  EXPECT_TRUE(s.engine.draining());
  EXPECT_EQ(s.take_frames(), first_goaway);
  // Data that was in flight is still received.
  s.feed(request(3));
  s.feed(ack_of_drain + request(5) + data(5, "x", end) + request(7, end_both));
  EXPECT_FALSE(s.engine.draining());
  EXPECT_EQ(s.take_frames(), "GOAWAY 3 NO_ERROR\n");
  EXPECT_EQ(s.engine.open_streams(), 2u);
  // The other streams continue.
  s.respond(s.stream(), true);
  EXPECT_EQ(s.take_frames(), "HEADERS 3 end\n");
}

TEST(Http2Ending, DrainNowSkipsTheFirstStep) {
  busy_server s(request(1));
  s.engine.drain_now();
  s.engine.drain_now();
  EXPECT_EQ(s.take_frames(), "GOAWAY 1 NO_ERROR\n");
  EXPECT_FALSE(s.engine.draining());
}

TEST(Http2Ending, BlocksBehindTheFinalGoawayAreStillDecoded) {
  busy_server s("");
  s.engine.drain_now();
  s.feed(headers(1, "\x80"));
  EXPECT_EQ(s.take_frames(),
            "GOAWAY 0 NO_ERROR\nGOAWAY 0 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
}

TEST(Http2Ending, ADrainingClientOpensNothing) {
  session s(role::client, {}, [](session&, const event&) {});
  s.open_and_request(true);
  s.engine.drain();
  EXPECT_FALSE(s.engine.can_open());
  EXPECT_EQ(s.open(), no_stream);
  s.feed(from_server() + response(1, end_both));
  EXPECT_EQ(s.events(), "headers 1 [:status=200] end\n");
}

TEST(Http2Ending, ResetEventsComeBeforeFailedAndStreamsMayBeReleasedInThem) {
  session s(role::server, {}, [](session& at, const event& e) {
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  });
  s.feed(from_client() + request(1) + request(3) + request(5) + ping("short"));
  EXPECT_TRUE(
      s.events().ends_with("reset 1 FRAME_SIZE_ERROR library\nreset 3 FRAME_SIZE_ERROR library\n"
                           "reset 5 FRAME_SIZE_ERROR library\n"
                           "failed FRAME_SIZE_ERROR library: PING length is not 8 (RFC 9113 6.7)\n"));
}

TEST(Http2Ending, AStreamReleasedBeforeItsResetEventGetsNone) {
  session s(role::server, {}, [](session& at, const event& e) {
    if (e.type == event::kind::reset && e.id == 1) at.engine.release(at.stream(1));
  });
  s.feed(from_client() + request(1) + request(3) + ping("short"));
  EXPECT_EQ(s.events().find("reset 3"), std::string::npos);
}

}  // namespace
}  // namespace coracle::http2::connection_ending_test
