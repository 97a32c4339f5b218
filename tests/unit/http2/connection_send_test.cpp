// Sent HEADERS and DATA: splitting, windows, order, and notifications.
#include "hpack/encoder.hpp"
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::connection_send_test {
namespace {

using namespace test;
using namespace test::frames;

// A server with open requests on streams 1, 3, ...
struct busy_server : session {
  explicit busy_server(int requests, const std::string& client_settings = settings())
      : session(role::server, {}, [](session&, const event&) {}) {
    std::string input = std::string(client_preface) + client_settings + settings_ack();
    for (int i = 0; i < requests; ++i) input += request(static_cast<stream_id>(1 + 2 * i), end_both);
    feed(input);
    take_frames();
  }
};
const auto trailer_block = [] { return hpack::stateless_encoder::encode_block({{"grpc-status", "0"}}); };

TEST(Http2Send, ALongBlockIsSplitIntoContinuationsThatArriveWhole) {
  busy_server s(1);
  const std::string value(40000, '~');  // 13 bits in Huffman's code, so it is sent as it is
  s.engine.begin_headers(s.stream());
  s.engine.add_field(":status", "200");
  s.engine.add_field("long", value, connection::indexing::no_index);
  s.engine.end_headers(true);
  const std::string bytes(as_text(s.engine.output().pending()));
  EXPECT_EQ(spell_frames(bytes), "HEADERS 1 end more\nCONTINUATION 1 more\nCONTINUATION 1\n");

  limits wide;
  wide.header_list_bytes = 1u << 20;
  session client(role::client, wide, [](session&, const event&) {});
  client.open_and_request(true);
  client.feed(from_server() + bytes);
  EXPECT_EQ(client.events(), "headers 1 [:status=200 long=" + value + "] end\n");
}

// A client whose request headers have a common prefix, and the server that reads them.
struct alike {
  alike()
      : client(role::client, {}, [](session&, const event&) {}),
        server(role::server, {}, [](session&, const event&) {}) {
    client.feed(from_server());
    client.take_frames();
    server.feed(from_client());
  }
  // Whether the first fields were those that are kept.
  bool request(std::string_view more_name = {}, connection::indexing more = connection::indexing::no_index) {
    const stream_ref s = client.engine.open(&client);
    EXPECT_TRUE(client.engine.begin_headers(s));
    const bool known = client.engine.add_fields(kept);
    if (!known) {
      for (const auto& [name, value] :
           {std::pair{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {"te", "trailers"}})
        client.engine.add_field(name, value);
      client.engine.keep_fields(kept);
    }
    if (!more_name.empty()) client.engine.add_field(more_name, "1", more);
    client.engine.end_headers(true);
    const std::string bytes(as_text(client.engine.output().pending()));
    client.engine.output().clear();
    server.feed(bytes);
    return known;
  }
  session client, server;
  hpack::encoded_fields kept;
};

TEST(Http2KeptFields, AreAddedToLaterHeadsWhileTheTableStays) {
  alike a;
  EXPECT_FALSE(a.request());
  EXPECT_TRUE(a.kept.octets.empty()) << "the first head has changed the table";
  EXPECT_FALSE(a.request());
  EXPECT_EQ(a.kept.octets.size(), 4u) << "each field is in a table by now";
  EXPECT_TRUE(a.request());
  EXPECT_TRUE(a.request("x-once"));
  EXPECT_TRUE(a.request());
  const std::string fields = "[:method=POST :scheme=http :path=/a.B/C te=trailers";
  EXPECT_EQ(a.server.events(), "headers 1 " + fields + "] end\nheaders 3 " + fields + "] end\nheaders 5 " +
                                   fields + "] end\nheaders 7 " + fields + " x-once=1] end\nheaders 9 " +
                                   fields + "] end\n");
}

TEST(Http2KeptFields, AreVoidOnceTheTableHasChanged) {
  alike a;
  while (!a.request()) {
  }
  EXPECT_TRUE(a.request("x-new", connection::indexing::index));
  EXPECT_FALSE(a.request()) << "the indexes have moved";
  EXPECT_TRUE(a.request());
  a.client.feed(settings({{1, 0}}));
  EXPECT_FALSE(a.request()) << "the table is empty";
  EXPECT_TRUE(a.kept.octets.empty()) << "its head began with a table size update";
  EXPECT_FALSE(a.request());
  EXPECT_TRUE(a.request()) << "of literals";
  const std::string events = a.server.events();
  EXPECT_EQ(events.find("failed"), std::string::npos) << events;
  EXPECT_NE(events.find("headers 17 [:method=POST :scheme=http :path=/a.B/C te=trailers] end"),
            std::string::npos)
      << events;
}

// In one step, the same octets are written as by the three that it stands for.
TEST(Http2KeptFields, AreSentInOneStep) {
  alike in_one, in_three;
  for (alike* a : {&in_one, &in_three})
    while (!a->request()) {
    }
  const auto octets = [](alike& a, bool at_once) {
    const stream_ref s = a.client.engine.open(&a.client);
    if (at_once) {
      EXPECT_TRUE(a.client.engine.send_fields(s, a.kept));
    } else {
      EXPECT_TRUE(a.client.engine.begin_headers(s));
      EXPECT_TRUE(a.client.engine.add_fields(a.kept));
      a.client.engine.end_headers(false);
    }
    std::string bytes(as_text(a.client.engine.output().pending()));
    a.client.engine.output().clear();
    a.server.feed(bytes);
    return bytes;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(octets(in_one, true), octets(in_three, false));
  EXPECT_EQ(in_one.server.events(), in_three.server.events());
}

TEST(Http2KeptFields, AreNotSentInOneStepIfTheTableHasChangedOrIsAboutTo) {
  alike a;
  while (!a.request()) {
  }
  const auto refused = [&a] {
    const stream_ref s = a.client.engine.open(&a.client);
    const bool sent = a.client.engine.send_fields(s, a.kept);
    EXPECT_TRUE(a.client.engine.output().pending().empty());
    a.client.engine.release(s);
    return !sent;
  };
  EXPECT_TRUE(a.request("x-new", connection::indexing::index));
  EXPECT_TRUE(refused()) << "the indexes have moved";
  while (!a.request()) {
  }
  a.client.feed(settings({{1, 0}}));
  a.client.engine.output().clear();
  EXPECT_TRUE(refused()) << "a table size update is due";
}

TEST(Http2Send, BlocksOfExactlyOneFrameAndOneOctetMore) {
  for (const std::size_t size : {16384u, 16385u, 32768u, 32769u}) {
    busy_server s(1);
    const std::vector<std::uint8_t> block(size, 0x88);
    EXPECT_TRUE(s.engine.send_block(s.stream(), block, true));
    const std::string words = s.take_frames();
    EXPECT_EQ(std::count(words.begin(), words.end(), '\n'), static_cast<long>((size + 16383) / 16384))
        << size;
    EXPECT_EQ(words.find("half"), std::string::npos);
  }
}

TEST(Http2Send, ReservedDataGoesOutAtOnce) {
  busy_server s(1);
  ASSERT_TRUE(s.respond(s.stream(), false));
  std::uint8_t* const to = s.engine.reserve_data(s.stream(), 5);
  ASSERT_NE(to, nullptr);
  std::memcpy(to, "abc", 3);
  s.engine.commit_data(s.stream(), 3, true);
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nDATA 1 'abc' end\n");
  EXPECT_FALSE(s.engine.can_send(s.stream()));
}

TEST(Http2Send, DataIsReservedOnlyWhenItMayLeaveAtOnce) {
  busy_server s(2, settings({{4, 10}}));
  const stream_ref a = s.stream(0);
  EXPECT_EQ(s.engine.reserve_data(a, 1), nullptr) << "before HEADERS";
  s.respond(a, false);
  EXPECT_NE(s.engine.reserve_data(a, 10), nullptr);
  EXPECT_EQ(s.engine.reserve_data(a, 11), nullptr) << "beyond the stream's window";
  s.send_data(a, "x", false);
  EXPECT_EQ(s.engine.reserve_data(a, 1), nullptr) << "behind a queue";
  s.engine.produce();
  EXPECT_NE(s.engine.reserve_data(a, 1), nullptr);
  s.feed(settings({{4, 1u << 30}}));
  EXPECT_EQ(s.engine.reserve_data(a, 16385), nullptr) << "more than a frame";
  EXPECT_NE(s.engine.reserve_data(a, 16384), nullptr);
}

TEST(Http2Send, QueuedDataKeepsToTheConnectionsWindowAndTakesTurns) {
  busy_server s(2, settings({{4, 1u << 20}}));
  for (const std::size_t i : {0u, 1u}) {
    s.respond(s.stream(i), false);
    s.send_data(s.stream(i), std::string(40000, i ? 'b' : 'a'), true);
  }
  EXPECT_TRUE(s.engine.has_queued());
  EXPECT_EQ(s.take_frames(),
            "HEADERS 1\nHEADERS 3\nDATA 1 <16384>\nDATA 3 <16384>\nDATA 1 <16384>\nDATA 3 <16383>\n");
  EXPECT_FALSE(s.engine.has_queued());
  EXPECT_EQ(s.engine.queued(s.stream(0)), 40000u - 32768);
  s.feed(window_update(0, 100000));
  EXPECT_EQ(s.take_frames(), "DATA 1 <7232> end\nDATA 3 <7233> end\n");
  EXPECT_EQ(s.engine.open_streams(), 0u);
}

TEST(Http2Send, ProduceStopsAtItsBound) {
  busy_server s(1, settings({{4, 1u << 20}}));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), std::string(60000, 'a'), true);
  s.engine.produce(20000);
  EXPECT_LE(s.engine.output().size(), 20000u + 16384 + 9);
  EXPECT_TRUE(s.engine.has_queued());
}

TEST(Http2Send, SmallPiecesInAQueueShareAFrame) {
  busy_server s(1);
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abc", false);
  s.send_data(s.stream(), "def", false);
  s.send_data(s.stream(), "", true);
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nDATA 1 'abcdef' end\n");
}

TEST(Http2Send, ABlockBehindQueuedDataWaitsForIt) {
  busy_server s(1, settings({{4, 4}}));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abcdef", false);
  EXPECT_FALSE(s.engine.begin_headers(s.stream())) << "it would refer to the table out of turn";
  EXPECT_TRUE(s.engine.send_block(s.stream(), trailer_block(), true));
  EXPECT_FALSE(s.engine.can_send(s.stream()));
  EXPECT_FALSE(s.send_data(s.stream(), "more", false));
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nDATA 1 'abcd'\n");
  s.feed(window_update(1, 10));
  EXPECT_EQ(s.take_frames(), "DATA 1 'ef'\nHEADERS 1 end\n");
  EXPECT_EQ(s.engine.open_streams(), 0u);
}

TEST(Http2Send, EndAndTrailersNeedNoWindow) {
  busy_server s(2, settings({{4, 3}}));
  s.respond(s.stream(0), false);
  s.respond(s.stream(1), false);
  s.send_data(s.stream(0), "abc", false);
  s.send_data(s.stream(1), "abc", false);
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nHEADERS 3\nDATA 1 'abc'\nDATA 3 'abc'\n");
  s.send_data(s.stream(0), "", true);
  s.engine.send_block(s.stream(1), trailer_block(), true);
  EXPECT_EQ(s.take_frames(), "HEADERS 3 end\nDATA 1 '' end\n");
}

TEST(Http2Send, WritableIsToldOnceWhenTheQueueHasSunk) {
  busy_server s(1, settings({{4, 4}}));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abcdefgh", false);
  s.engine.want_writable(s.stream(), 2);
  const std::string before = s.events();
  s.take_frames();
  s.pump();
  EXPECT_EQ(s.events(), before);
  s.feed(window_update(1, 2));
  s.take_frames();
  s.pump();
  EXPECT_EQ(s.events(), before + "writable 1\n");
  s.feed(window_update(1, 2));
  s.take_frames();
  s.pump();
  EXPECT_EQ(s.events(), before + "writable 1\n");
  s.engine.want_writable(s.stream(), 0);
  s.pump();
  EXPECT_EQ(s.events(), before + "writable 1\nwritable 1\n");
}

TEST(Http2Send, WritableIsToldEvenIfTheStreamHasEndedWithItsQueue) {
  busy_server s(1);
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abc", true);
  s.engine.want_writable(s.stream(), 0);
  s.take_frames();
  EXPECT_EQ(s.engine.open_streams(), 0u);
  s.pump();
  EXPECT_TRUE(s.events().ends_with("writable 1\n"));
  s.engine.want_writable(s.stream(), 0);
  s.pump();
  EXPECT_TRUE(s.events().ends_with("writable 1\nwritable 1\n"));
}

TEST(Http2Send, WritableOfAStreamThatHasEndedSurvivesTheConnectionsEnd) {
  busy_server s(1);
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abc", true);
  s.engine.want_writable(s.stream(), 0);
  s.take_frames();
  s.engine.feed_end(s.now);
  s.pump();
  EXPECT_TRUE(s.events().ends_with("writable 1\nfailed CANCEL peer: connection closed\n"));
}

TEST(Http2Send, ResetDropsWhatIsQueuedAndNoEventFollows) {
  busy_server s(1, settings({{4, 4}}));
  s.respond(s.stream(), false);
  s.send_data(s.stream(), "abcdefgh", true);
  s.engine.want_writable(s.stream(), 0);
  const std::string before = s.events();
  s.engine.reset(s.stream(), error_code::internal_error);
  s.engine.reset(s.stream(), error_code::cancel);
  EXPECT_EQ(s.take_frames(), "HEADERS 1\nRST_STREAM 1 INTERNAL_ERROR\n");
  s.pump();
  EXPECT_EQ(s.events(), before);
  EXPECT_EQ(s.engine.queued(s.stream()), 0u);
}

TEST(Http2Send, ATableSizeUpdateGoesInFrontOfAnyBlock) {
  busy_server s(1, settings({{1, 0}}));
  s.engine.send_block(s.stream(), trailer_block(), true);
  const bytes_view out = s.engine.output().pending();
  ASSERT_GT(out.size(), 10u);
  EXPECT_EQ(out[9], 0x20);  // RFC 7541 6.3: size 0
}

}  // namespace
}  // namespace coracle::http2::connection_send_test
