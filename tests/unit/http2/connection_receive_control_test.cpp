// Received PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY and WINDOW_UPDATE frames.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <string>

namespace coracle::http2::connection_receive_control_test {
namespace {

using namespace test;
using namespace test::frames;

const std::string head1 = "headers 1 [:method=POST :scheme=http :path=/a.B/C :authority=h]\n";

story serve(const std::string& input, const limits& l = {}) {
  return play({.side = role::server, .input = from_client() + input, .bounds = l});
}
std::string frames_of_client(const std::string& input) {
  return play({.side = role::client, .input = input}).frames;
}
std::string u48(unsigned id, std::uint32_t value) {
  return std::string{'\0', static_cast<char>(id)} + u32(value);
}

// --- PRIORITY

TEST(Http2Priority, IsParsedAndIgnoredInEveryState) {
  const story s = serve(priority(1, 3) + request(1) + priority(1, 3) + data(1, "", end) + priority(1, 0) +
                        priority(7, 1));
  EXPECT_EQ(s.events, head1 + "data 1 '' end\n");
  EXPECT_EQ(s.frames, "");
}

TEST(Http2Priority, OnStreamZeroIsAConnectionError) {
  EXPECT_EQ(serve(priority(0, 3)).frames, "GOAWAY 0 PROTOCOL_ERROR 'PRIORITY on stream 0 (RFC 9113 6.3)'\n");
}

TEST(Http2Priority, AStreamThatDependsOnItselfIsReset) {
  EXPECT_EQ(serve(request(1) + priority(1, 1)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2Priority, AnIdleStreamThatDependsOnItselfIsAConnectionError) {
  EXPECT_EQ(serve(priority(3, 3)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'stream depends on itself (RFC 7540 5.3.1)'\n");
}

TEST(Http2Priority, OfAWrongLengthResetsTheStream) {
  EXPECT_EQ(serve(request(1) + raw(frame_type::priority, 0, 1, "abcd")).frames,
            "RST_STREAM 1 FRAME_SIZE_ERROR\n");
  EXPECT_EQ(serve(raw(frame_type::priority, 0, 1, "abcdef")).frames,
            "GOAWAY 0 FRAME_SIZE_ERROR 'PRIORITY length is not 5 (RFC 9113 6.3)'\n");
}

// --- RST_STREAM

TEST(Http2RstStream, EndsTheStreamForTheUser) {
  EXPECT_EQ(serve(request(1) + rst_stream(1, error_code::cancel)).events, head1 + "reset 1 CANCEL peer\n");
}

TEST(Http2RstStream, WithAnUnknownCodeIsStillAReset) {
  EXPECT_EQ(serve(request(1) + rst_stream(1, static_cast<error_code>(0x1234))).events,
            head1 + "reset 1 UNKNOWN_ERROR peer\n");
}

TEST(Http2RstStream, RefusedStreamPromisesThatNothingWasProcessed) {
  const story s = play({.side = role::client,
                        .input = from_server() + rst_stream(1, error_code::refused_stream),
                        .first = [](session& at) { at.open_and_request(true); }});
  EXPECT_EQ(s.events, "reset 1 REFUSED_STREAM peer unprocessed\n");
}

TEST(Http2RstStream, OnStreamZeroIsAConnectionError) {
  EXPECT_EQ(serve(rst_stream(0, error_code::cancel)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'RST_STREAM on stream 0 (RFC 9113 6.4)'\n");
}

TEST(Http2RstStream, OnAnIdleStreamIsAConnectionError) {
  EXPECT_EQ(serve(rst_stream(1, error_code::cancel)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'RST_STREAM on stream 1 in state idle (RFC 9113 5.1)'\n");
}

TEST(Http2RstStream, OfAWrongLengthIsAConnectionError) {
  EXPECT_EQ(serve(request(1) + raw(frame_type::rst_stream, 0, 1, "abc")).frames,
            "GOAWAY 1 FRAME_SIZE_ERROR 'RST_STREAM length is not 4 (RFC 9113 6.4)'\n");
}

// --- SETTINGS

TEST(Http2Settings, AreAcknowledgedEachTime) {
  EXPECT_EQ(serve(settings() + settings({{4, 1}})).frames, "SETTINGS ack\nSETTINGS ack\n");
}

TEST(Http2Settings, UnknownParametersAreIgnored) {
  EXPECT_EQ(serve(settings({{0xff, 1}})).frames, "SETTINGS ack\n");
}

TEST(Http2Settings, ASecondAckIsIgnored) { EXPECT_EQ(serve(settings_ack()).frames, ""); }

TEST(Http2Settings, WrongOnesAreConnectionErrors) {
  const auto dies = [](const std::string& frame, const std::string& error) {
    EXPECT_EQ(serve(frame).frames, "GOAWAY 0 " + error + "\n");
  };
  dies(raw(frame_type::settings, 0, 1, ""),
       "PROTOCOL_ERROR 'SETTINGS on a stream other than 0 (RFC 9113 6.5)'");
  dies(raw(frame_type::settings, flag::ack, 0, u48(3, 1)),
       "FRAME_SIZE_ERROR 'SETTINGS with ACK and a payload (RFC 9113 6.5)'");
  dies(raw(frame_type::settings, 0, 0, "abcde"),
       "FRAME_SIZE_ERROR 'SETTINGS length is not a multiple of 6 (RFC 9113 6.5)'");
  dies(settings({{2, 2}}), "PROTOCOL_ERROR 'SETTINGS_ENABLE_PUSH is not a permitted value (RFC 9113 6.5.2)'");
  dies(settings({{4, 0x80000000}}),
       "FLOW_CONTROL_ERROR 'SETTINGS_INITIAL_WINDOW_SIZE exceeds 2^31-1 (RFC 9113 6.5.2)'");
  dies(settings({{5, 16383}}),
       "PROTOCOL_ERROR 'SETTINGS_MAX_FRAME_SIZE is not from 2^14 to 2^24-1 (RFC 9113 6.5.2)'");
  dies(settings({{5, 16777216}}),
       "PROTOCOL_ERROR 'SETTINGS_MAX_FRAME_SIZE is not from 2^14 to 2^24-1 (RFC 9113 6.5.2)'");
}

TEST(Http2Settings, AServerMayNotAllowPush) {
  EXPECT_EQ(frames_of_client(settings({{2, 1}})),
            "GOAWAY 0 PROTOCOL_ERROR 'SETTINGS_ENABLE_PUSH is not a permitted value (RFC 9113 6.5.2)'\n");
  EXPECT_EQ(frames_of_client(settings({{2, 0}})), "");
  EXPECT_EQ(serve(settings({{2, 1}})).frames, "SETTINGS ack\n");
}

TEST(Http2Settings, TheInitialWindowHoldsForOpenStreamsAndMayGoBelowZero) {
  const auto user = [](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    at.respond(e.stream, false);
    at.send_data(e.stream, "abcdefgh", true);
    at.engine.produce();
  };
  const std::string small =
      std::string(client_preface) + settings({{4, 3}}) + settings_ack() + request(1, end_both);
  const auto tell = [&](const std::string& then) {
    session s(role::server, {}, user);
    s.feed(small);
    EXPECT_EQ(s.take_frames(), "SETTINGS ack\nHEADERS 1\nDATA 1 'abc'\n");
    s.feed(then);
    return s.take_frames();
  };
  EXPECT_EQ(tell(""), "");
  EXPECT_EQ(tell(settings({{4, 5}})), "SETTINGS ack\nDATA 1 'de'\n");
  EXPECT_EQ(tell(settings({{4, 100}})), "SETTINGS ack\nDATA 1 'defgh' end\n");
  // The window is -2: two octets of credit only raise it to zero.
  EXPECT_EQ(tell(settings({{4, 1}}) + window_update(1, 2)), "SETTINGS ack\n");
  EXPECT_EQ(tell(settings({{4, 1}}) + window_update(1, 3)), "SETTINGS ack\nDATA 1 'd'\n");
  EXPECT_EQ(tell(settings({{4, 1}}) + settings({{4, 4}})), "SETTINGS ack\nSETTINGS ack\nDATA 1 'd'\n");
}

TEST(Http2Settings, AnInitialWindowThatOverflowsAStreamIsAConnectionError) {
  EXPECT_EQ(serve(request(1) + window_update(1, 0x7fffffff - 65535) + settings({{4, 65536}})).frames,
            "GOAWAY 1 FLOW_CONTROL_ERROR 'SETTINGS_INITIAL_WINDOW_SIZE raises the window of a stream above "
            "2^31-1 (RFC 9113 6.9.2)'\n");
}

TEST(Http2Settings, TheHeaderTableSizeHoldsForOurEncoder) {
  const auto size_of_second_head = [](const std::string& frame) {
    session s(role::server, {}, [](session&, const event&) {});
    s.feed(from_client() + request(1) + request(3) + frame);
    std::size_t size = 0;
    for (const std::size_t i : {0u, 1u}) {
      s.engine.output().clear();
      s.engine.begin_headers(s.stream(i));
      s.engine.add_field(":status", "200");
      s.engine.add_field("x-some-name", "some-value");
      s.engine.end_headers(true);
      size = s.engine.output().size();
    }
    return size;
  };
  EXPECT_EQ(size_of_second_head(""), 9u + 2);
  EXPECT_GT(size_of_second_head(settings({{1, 0}})), 9u + 10);
}

// --- PING

TEST(Http2Ping, IsAnsweredWithItsOctets) {
  EXPECT_EQ(serve(ping(std::string("\0\0\0\0\0\0\1\2", 8))).frames, "PING ack 258\n");
}

TEST(Http2Ping, ThoseOfThePeerAreCounted) {
  session s(role::server, {}, [](session&, const event&) {});
  s.feed(from_client() + ping("12345678") + ping("12345678") + ping("12345678", true));
  EXPECT_EQ(s.engine.pings_answered(), 2u);
}

TEST(Http2Ping, AnswersToNoneAreIgnored) { EXPECT_EQ(serve(ping("12345678", true)).events, ""); }

TEST(Http2Ping, WrongOnesAreConnectionErrors) {
  EXPECT_EQ(serve(ping("1234567")).frames,
            "GOAWAY 0 FRAME_SIZE_ERROR 'PING length is not 8 (RFC 9113 6.7)'\n");
  EXPECT_EQ(serve(raw(frame_type::ping, 0, 1, "12345678")).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'PING on a stream other than 0 (RFC 9113 6.7)'\n");
}

// --- GOAWAY

TEST(Http2Goaway, EndsTheStreamsAboveItsLastIdAsUnprocessed) {
  const story s =
      play({.side = role::client,
            .input = from_server() + goaway(1, error_code::no_error, "bye") + response(1, end_both),
            .first =
                [](session& at) {
                  at.open_and_request(true);
                  at.open_and_request(true);
                  at.open();  // has sent nothing yet
                },
            .last = [](session& at) { EXPECT_EQ(at.open(), no_stream); }});
  EXPECT_EQ(s.events,
            "goaway NO_ERROR 'bye'\nreset 3 NO_ERROR peer unprocessed\nreset 0 NO_ERROR peer unprocessed\n"
            "headers 1 [:status=200] end\n");
}

TEST(Http2Goaway, OfAClientLeavesItsStreamsAlone) {
  EXPECT_EQ(serve(request(1) + goaway(0, error_code::no_error) + data(1, "x", end)).events,
            head1 + "goaway NO_ERROR ''\ndata 1 'x' end\n");
}

TEST(Http2Goaway, WrongOnesAreConnectionErrors) {
  EXPECT_EQ(serve(raw(frame_type::goaway, 0, 0, "1234567")).frames,
            "GOAWAY 0 FRAME_SIZE_ERROR 'GOAWAY length is less than 8 (RFC 9113 6.8)'\n");
  EXPECT_EQ(serve(raw(frame_type::goaway, 0, 1, "12345678")).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'GOAWAY on a stream other than 0 (RFC 9113 6.8)'\n");
}

// --- WINDOW_UPDATE

TEST(Http2WindowUpdate, LetsAStreamGoOn) {
  session s(role::server, {}, [](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    at.respond(e.stream, false);
    at.send_data(e.stream, "abcdef", true);
  });
  s.feed(std::string(client_preface) + settings({{4, 0}}) + settings_ack() + request(1, end_both));
  EXPECT_EQ(s.take_frames(), "SETTINGS ack\nHEADERS 1\n");
  s.feed(window_update(1, 2));
  EXPECT_EQ(s.take_frames(), "DATA 1 'ab'\n");
  s.feed(window_update(1, 0x7fffffff));
  EXPECT_EQ(s.take_frames(), "DATA 1 'cdef' end\n");
}

TEST(Http2WindowUpdate, OfZeroIsAnErrorOfItsScope) {
  EXPECT_EQ(serve(request(1) + window_update(1, 0)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(serve(window_update(0, 0)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'WINDOW_UPDATE with increment 0 (RFC 9113 6.9)'\n");
}

TEST(Http2WindowUpdate, AWindowAboveTheMaximumIsAnErrorOfItsScope) {
  EXPECT_EQ(serve(request(1) + window_update(1, 0x7fffffff - 65535)).frames, "");
  EXPECT_EQ(serve(request(1) + window_update(1, 0x7fffffff - 65534)).frames,
            "RST_STREAM 1 FLOW_CONTROL_ERROR\n");
  EXPECT_EQ(serve(window_update(0, 0x7fffffff - 65535)).frames, "");
  EXPECT_EQ(serve(window_update(0, 0x7fffffff - 65534)).frames,
            "GOAWAY 0 FLOW_CONTROL_ERROR 'WINDOW_UPDATE raises the window of the connection above 2^31-1 "
            "(RFC 9113 6.9.1)'\n");
}

TEST(Http2WindowUpdate, OnAnIdleStreamIsAConnectionError) {
  EXPECT_EQ(serve(window_update(1, 1)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'WINDOW_UPDATE on stream 1 in state idle (RFC 9113 5.1)'\n");
}

TEST(Http2WindowUpdate, OfAWrongLengthIsAConnectionError) {
  EXPECT_EQ(serve(raw(frame_type::window_update, 0, 0, "abc")).frames,
            "GOAWAY 0 FRAME_SIZE_ERROR 'WINDOW_UPDATE length is not 4 (RFC 9113 6.9)'\n");
}

}  // namespace
}  // namespace coracle::http2::connection_receive_control_test
