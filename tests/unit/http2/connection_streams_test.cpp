// The life of streams: opening, releasing, ids, and what remains afterwards.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::connection_streams_test {
namespace {

using namespace test;
using namespace test::frames;

struct idle_client : session {
  idle_client() : session(role::client, {}, [](session&, const event&) {}) {}
};
struct busy_server : session {
  explicit busy_server(const std::string& input) : session(role::server, {}, [](session&, const event&) {}) {
    feed(from_client() + input);
    take_frames();
  }
};

TEST(Http2Streams, IdsGrowInTheOrderOfHeadersNotOfOpening) {
  idle_client s;
  const stream_ref a = s.open();
  const stream_ref b = s.open();
  EXPECT_EQ(s.engine.id_of(a), 0u);
  for (const stream_ref r : {b, a}) {
    ASSERT_TRUE(s.engine.begin_headers(r));
    s.engine.end_headers(true);
  }
  EXPECT_EQ(s.take_frames(), "HEADERS 1 end\nHEADERS 3 end\n");
  EXPECT_EQ(s.engine.id_of(b), 1u);
  EXPECT_EQ(s.engine.id_of(a), 3u);
}

TEST(Http2Streams, AStreamThatSentNothingIsGivenBackInSilence) {
  idle_client s;
  s.engine.release(s.open());
  const stream_ref reset = s.open();
  s.engine.reset(reset, error_code::cancel);
  s.engine.release(reset);
  EXPECT_EQ(s.take_frames(), "");
  EXPECT_EQ(s.engine.open_streams(), 0u);
  EXPECT_NE(s.open_and_request(true), no_stream);
  EXPECT_EQ(s.take_frames(), "HEADERS 1 end\n");
}

TEST(Http2Streams, AClientOpensNoMoreThanThePeerAllows) {
  idle_client s;
  s.feed(settings({{3, 2}}) + settings_ack());
  EXPECT_NE(s.open_and_request(true), no_stream);
  EXPECT_NE(s.open(), no_stream);
  EXPECT_FALSE(s.engine.can_open());
  EXPECT_EQ(s.open(), no_stream);
  s.feed(response(1, end_both));
  EXPECT_EQ(s.events(), "headers 1 [:status=200] end\nslots\n");
  EXPECT_TRUE(s.engine.can_open());
}

TEST(Http2Streams, SlotsAreToldWhenThePeerRaisesItsLimit) {
  idle_client s;
  s.feed(settings({{3, 0}}) + settings_ack());
  EXPECT_EQ(s.open(), no_stream);
  s.feed(settings({{3, 1}}));
  EXPECT_EQ(s.events(), "slots\n");
  EXPECT_NE(s.open(), no_stream);
}

TEST(Http2Streams, AHundredStreamsAreAssumedBeforeTheServersSettings) {
  idle_client s;
  for (int i = 0; i < 100; ++i) EXPECT_NE(s.open(), no_stream);
  EXPECT_EQ(s.open(), no_stream);
  s.feed(settings());
  EXPECT_EQ(s.events(), "slots\n");
  for (int i = 0; i < 1000; ++i) EXPECT_NE(s.open(), no_stream);
}

TEST(Http2Streams, AStreamAboveTheLimitIsRefusedAndTheNextOneIsNot) {
  limits l;
  l.max_concurrent_streams = 1;
  session s(role::server, l, [](session&, const event&) {});
  s.feed(from_client() + request(1) + request(3));
  EXPECT_EQ(s.take_frames(), "SETTINGS ack\nRST_STREAM 3 REFUSED_STREAM\n");
  s.respond(s.stream(), true);
  s.engine.release(s.stream());
  s.feed(data(3, "x", end) + request(5));
  EXPECT_EQ(s.take_frames(), "HEADERS 1 end\nRST_STREAM 1 NO_ERROR\n");
  EXPECT_TRUE(s.events().ends_with("headers 5 [:method=POST :scheme=http :path=/a.B/C :authority=h]\n"));
}

TEST(Http2Streams, StreamsThatAreClosedButNotReleasedCountInTheEnd) {
  limits l;
  l.max_concurrent_streams = 2;
  std::string input;
  for (stream_id id = 1; id <= 9; id += 2) input += request(id) + rst_stream(id, error_code::cancel);
  session s(role::server, l, [](session&, const event&) {});
  s.feed(from_client() + input);
  EXPECT_EQ(s.take_frames(), "SETTINGS ack\nRST_STREAM 9 REFUSED_STREAM\n");
}

TEST(Http2Streams, ReleaseCancelsAnOpenStream) {
  idle_client s;
  s.engine.release(s.open_and_request(false));
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nRST_STREAM 1 CANCEL\n");
  s.engine.release(s.open_and_request(true));
  EXPECT_EQ(s.take_frames(), "HEADERS 3 end\nRST_STREAM 3 CANCEL\n");
  busy_server server(request(1));
  server.engine.release(server.stream());
  EXPECT_EQ(server.take_frames(), "RST_STREAM 1 CANCEL\n");
}

TEST(Http2Streams, AServerThatHasAnsweredInFullStopsTheClientWithoutError) {
  busy_server s(request(1));
  s.respond(s.stream(), true);
  s.engine.release(s.stream());
  EXPECT_EQ(s.take_frames(), "HEADERS 1 end\nRST_STREAM 1 NO_ERROR\n");
}

TEST(Http2Streams, AQueuedResponseThatIsSentBeforeTheReleaseStopsTheClientWithoutError) {
  busy_server s(request(1));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abcdef", true);
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nDATA 1 'abcdef' end\n");
  s.engine.release(s.stream());
  EXPECT_EQ(s.take_frames(), "RST_STREAM 1 NO_ERROR\n");
  EXPECT_EQ(s.engine.open_streams(), 0u);
}

TEST(Http2Streams, WhatIsQueuedToTheEndIsSentAfterRelease) {
  busy_server s(settings({{4, 4}}) + request(1) + request(3, end_both));
  for (const std::size_t i : {0u, 1u}) {
    s.respond(s.stream(i), false);
    s.send_data(s.stream(i), "abcdef", true);
    s.engine.release(s.stream(i));
  }
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nHEADERS 3\nDATA 1 'abcd'\nDATA 3 'abcd'\n");
  EXPECT_EQ(s.engine.open_streams(), 2u);
  const std::string before = s.events();
  s.feed(data(1, "unwanted") + window_update(1, 9) + window_update(3, 9));
  EXPECT_EQ(s.take_frames(), "DATA 1 'ef' end\nRST_STREAM 1 NO_ERROR\nDATA 3 'ef' end\n");
  EXPECT_EQ(s.engine.open_streams(), 0u);
  EXPECT_EQ(s.events(), before);
}

TEST(Http2Streams, AReleasedStreamThatStillSendsMayBeResetByThePeer) {
  busy_server s(settings({{4, 0}}) + request(1, end_both));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abc", true);
  s.engine.release(s.stream());
  const std::string before = s.events();
  s.feed(rst_stream(1, error_code::cancel));
  EXPECT_EQ(s.engine.open_streams(), 0u);
  EXPECT_EQ(s.events(), before);
}

TEST(Http2Streams, FunctionsAreHarmlessOnAStreamThatHasClosed) {
  busy_server s(request(1) + rst_stream(1, error_code::cancel));
  const stream_ref r = s.stream();
  EXPECT_FALSE(s.engine.can_send(r));
  EXPECT_FALSE(s.engine.begin_headers(r));
  EXPECT_FALSE(s.engine.send_block(r, {}, true));
  EXPECT_EQ(s.engine.reserve_data(r, 1), nullptr);
  EXPECT_FALSE(s.send_data(r, "x", true));
  s.engine.want_writable(r, 0);
  s.engine.consume(r, 10);
  s.engine.reset(r, error_code::cancel);
  s.engine.release(r);
  s.engine.release(r);
  EXPECT_EQ(s.take_frames(), "");
}

TEST(Http2Streams, TheUsersPointerComesWithEachEvent) {
  int mark = 0;
  std::vector<void*> seen;
  session s(role::server, {}, [&](session& at, const event& e) {
    if (e.type == event::kind::settings) return;
    seen.push_back(e.user);
    if (e.type == event::kind::headers) at.engine.set_user(e.stream, &mark);
  });
  s.feed(from_client() + request(1) + data(1, "x") + rst_stream(1, error_code::cancel));
  EXPECT_EQ(seen, (std::vector<void*>{nullptr, &mark, &mark}));
}

TEST(Http2Streams, FramesOnStreamsThatWeHaveResetAreBorneWith) {
  busy_server s(request(1));
  s.engine.reset(s.stream(), error_code::cancel);
  s.take_frames();
  s.feed(data(1, "x") + window_update(1, 1) + data(1, "x", end) + trailers(1) +
         rst_stream(1, error_code::cancel));
  EXPECT_FALSE(s.engine.failed());
  EXPECT_EQ(s.take_frames(), "");
}

TEST(Http2Streams, ManyStreamsLeaveNothingBehind) {
  session s(role::server, {}, [](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    at.respond(e.stream, true);
    at.engine.release(e.stream);
  });
  s.feed(from_client() + request(1, end_both));
  s.engine.output().clear();
  const std::size_t bytes = s.engine.memory_bytes();
  for (stream_id id = 3; id < 20000; id += 2) {
    s.feed(request(id, end_both));
    s.engine.output().clear();
    ASSERT_EQ(s.engine.open_streams(), 0u);
    ASSERT_EQ(s.engine.memory_bytes(), bytes) << "the place is used again";
  }
}

}  // namespace
}  // namespace coracle::http2::connection_streams_test
