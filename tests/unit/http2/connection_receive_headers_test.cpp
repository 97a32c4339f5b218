// Received HEADERS and CONTINUATION frames, and what makes a message malformed.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::connection_receive_headers_test {
namespace {

using namespace test;
using namespace test::frames;

const std::string head1 = "headers 1 [:method=POST :scheme=http :path=/a.B/C :authority=h]";

story serve(const std::string& input, const limits& l = {}) {
  return play({.side = role::server, .input = from_client() + input, .bounds = l});
}
story answer(const std::string& input) {
  story s = play({.side = role::client, .input = from_server() + input, .first = [](session& at) {
                    at.open_and_request(false);
                  }});
  EXPECT_TRUE(s.frames.starts_with("HEADERS 1\nSETTINGS ack\n"));
  s.frames.erase(0, 23);
  return s;
}

TEST(Http2ReceiveHeaders, ABlockMayBeSpreadOverContinuations) {
  const std::string block = request_block();
  EXPECT_EQ(serve(headers(1, block.substr(0, 2), end) + continuation(1, block.substr(2, 5), 0) +
                  continuation(1, block.substr(7)))
                .events,
            head1 + " end\n");
  EXPECT_EQ(serve(headers(1, block, 0) + continuation(1, "")).events, head1 + "\n");
}

// The stream has ended on the wire when its last block turns out to be undecodable: its user is notified of
// the end nevertheless.
TEST(Http2ReceiveHeaders, TheUserOfAnEndedStreamHearsThatItsTrailersCannotBeRead) {
  const std::string index_zero = "\x80";
  const std::string bad = block({{"grpc-status", "0"}}) + index_zero;
  for (const bool pulls : {true, false}) {
    const story s = play({.side = role::client,
                          .input = from_server() + response(1) + headers(1, bad, end_both),
                          .first = [pulls](session& at) {
                            at.pulls_fields = pulls;
                            at.open_and_request(true);
                          }});
    EXPECT_TRUE(
        s.events.ends_with("reset 1 COMPRESSION_ERROR library\n"
                           "failed COMPRESSION_ERROR library: index 0 in a header block (RFC 7541 6.1)\n"))
        << s.events;
  }
}

TEST(Http2ReceiveHeaders, PaddingAndPriorityAreTakenOff) {
  const std::string priority_fields = u32(3) + '\x10';
  EXPECT_EQ(serve(headers(1, padded(priority_fields + request_block(), 7),
                          end_both | flag::padded | flag::priority))
                .events,
            head1 + " end\n");
}

TEST(Http2ReceiveHeaders, PaddingAsLongAsThePayloadIsAConnectionError) {
  EXPECT_EQ(serve(headers(1,
                          "\x05"
                          "abcd",
                          end_headers | flag::padded))
                .frames,
            "GOAWAY 0 PROTOCOL_ERROR 'padding exceeds the payload of HEADERS (RFC 9113 6.2)'\n");
  EXPECT_EQ(serve(headers(1, "", end_headers | flag::padded)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'padding exceeds the payload of HEADERS (RFC 9113 6.2)'\n");
}

TEST(Http2ReceiveHeaders, APriorityThatDoesNotFitIsAConnectionError) {
  EXPECT_EQ(serve(headers(1, "abcd", end_headers | flag::priority)).frames,
            "GOAWAY 0 FRAME_SIZE_ERROR 'HEADERS too short for its priority fields (RFC 9113 6.2)'\n");
}

TEST(Http2ReceiveHeaders, AStreamThatDependsOnItselfIsReset) {
  const std::string frame = headers(1, u32(1) + '\x10' + request_block(), end_both | flag::priority);
  const story s = serve(frame + request(3, end_both));
  EXPECT_EQ(s.frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(s.events, "headers 3 [:method=POST :scheme=http :path=/a.B/C :authority=h] end\n");
}

TEST(Http2ReceiveHeaders, HeadersOnStreamZeroIsAConnectionError) {
  EXPECT_EQ(serve(request(0)).frames, "GOAWAY 0 PROTOCOL_ERROR 'HEADERS on stream 0 (RFC 9113 6.2)'\n");
}

TEST(Http2ReceiveHeaders, AClientCannotOpenEvenStreams) {
  EXPECT_EQ(serve(request(2)).frames,
            "GOAWAY 0 PROTOCOL_ERROR 'HEADERS on a stream that the peer cannot open (RFC 9113 5.1.1)'\n");
}

TEST(Http2ReceiveHeaders, AServerCannotOpenStreams) {
  for (const stream_id id : {2u, 3u})
    EXPECT_EQ(answer(response(id)).frames,
              "GOAWAY 0 PROTOCOL_ERROR 'HEADERS on a stream that the peer cannot open (RFC 9113 5.1.1)'\n");
}

TEST(Http2ReceiveHeaders, ALowerIdThanTheHighestIsAConnectionError) {
  EXPECT_EQ(serve(request(5) + request(3)).frames,
            "GOAWAY 5 PROTOCOL_ERROR 'HEADERS on stream 3 in state closed (RFC 9113 5.1)'\n");
}

TEST(Http2ReceiveHeaders, ContinuationNeedsABlock) {
  EXPECT_EQ(serve(request(1) + continuation(1, "x")).frames,
            "GOAWAY 1 PROTOCOL_ERROR 'CONTINUATION outside of a header block (RFC 9113 6.10)'\n");
}

TEST(Http2ReceiveHeaders, NothingMayComeBetweenTheFramesOfABlock) {
  for (const std::string& frame :
       {data(1, "x"), request(3), priority(1, 3), rst_stream(1, error_code::cancel), settings(),
        ping("12345678"), goaway(0, error_code::no_error), window_update(0, 1), continuation(3, "x")})
    EXPECT_EQ(serve(request(1, 0) + frame).frames,
              "GOAWAY 0 PROTOCOL_ERROR 'another frame within a header block (RFC 9113 6.10)'\n");
}

TEST(Http2ReceiveHeaders, AnUndecodableBlockIsAConnectionError) {
  const story s = serve(request(1) + headers(3, "\x80"));
  EXPECT_EQ(s.frames, "GOAWAY 3 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
  EXPECT_EQ(s.events, head1 +
                          "\nheaders 3 [] bad\nreset 1 COMPRESSION_ERROR library\n"
                          "reset 3 COMPRESSION_ERROR library\nfailed COMPRESSION_ERROR library: index 0 in a "
                          "header block (RFC 7541 6.1)\n");
}

TEST(Http2ReceiveHeaders, AnUndecodableBlockIsAConnectionErrorWhereverItGoes) {
  const std::string broken = "\x80";
  EXPECT_EQ(serve(request(1, end_both) + headers(1, broken, end_both)).frames,
            "GOAWAY 1 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
  EXPECT_EQ(serve(request(1) + headers(1, broken, end_headers)).frames,
            "GOAWAY 1 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
  EXPECT_EQ(serve(headers(1, u32(1) + '\x10' + broken, end_headers | flag::priority)).frames,
            "GOAWAY 0 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
  limits l;
  l.max_concurrent_streams = 0;
  EXPECT_EQ(serve(headers(1, broken), l).frames,
            "GOAWAY 0 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
  const story reset =
      play({.input = from_client() + request(1) + headers(1, broken, end_both),
            .react = [](session& at, const event& e) { at.engine.reset(e.stream, error_code::cancel); }});
  EXPECT_EQ(reset.frames,
            "RST_STREAM 1 CANCEL\nGOAWAY 1 COMPRESSION_ERROR 'index 0 in a header block (RFC 7541 6.1)'\n");
}

// RFC 7541 4.2. Otherwise 64 KiB of updates would change the table 64,000 times for one block.
TEST(Http2ReceiveHeaders, AThirdTableSizeUpdateIsAConnectionError) {
  const std::string update = "\x20";
  EXPECT_EQ(serve(headers(1, update + update + request_block(), end_both)).frames, "");
  EXPECT_EQ(serve(headers(1, update + update + update + request_block(), end_both)).frames,
            "GOAWAY 1 COMPRESSION_ERROR 'more than two dynamic table size updates in a header block (RFC "
            "7541 4.2)'\n");
}

// --- malformed messages, RFC 9113 8.1.1

struct malformed_case {
  const char* description;
  std::initializer_list<hpack::field> fields;
};

TEST(Http2ReceiveHeaders, MalformedRequestsAreReset) {
  const malformed_case cases[] = {
      {"upper case", {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"X-A", "1"}}},
      {"unknown pseudo-header", {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":x", "1"}}},
      {"a response's pseudo-header",
       {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":status", "200"}}},
      {"pseudo-header behind a field", {{":method", "GET"}, {":scheme", "http"}, {"a", "b"}, {":path", "/"}}},
      {"connection", {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"connection", "close"}}},
      {"te", {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {"te", "gzip"}}},
      {"empty path", {{":method", "GET"}, {":scheme", "http"}, {":path", ""}}},
      {"control character in the path", {{":method", "GET"}, {":scheme", "http"}, {":path", "/a\x1b/b"}}},
      {"octet above 0x7f in the path", {{":method", "GET"}, {":scheme", "http"}, {":path", "/a\x80/b"}}},
      {"control character in the authority",
       {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "h\x01"}}},
      {"no method", {{":scheme", "http"}, {":path", "/"}}},
      {"no scheme", {{":method", "GET"}, {":path", "/"}}},
      {"no path", {{":method", "GET"}, {":scheme", "http"}}},
      {"two methods", {{":method", "GET"}, {":method", "GET"}, {":scheme", "http"}, {":path", "/"}}},
      {"no fields", {}},
  };
  for (const malformed_case& c : cases) {
    SCOPED_TRACE(c.description);
    const story s = serve(headers(1, block(c.fields), end_both) + request(3, end_both));
    EXPECT_EQ(s.frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
    EXPECT_NE(s.events.find("bad end\nreset 1 PROTOCOL_ERROR library\nheaders 3 ["), std::string::npos)
        << s.events;
  }
}

TEST(Http2ReceiveHeaders, AFieldThatWasCheckedOnceIsStillCheckedForItsPlace) {
  // "a: b" is inserted into the table; from then on it is identified by its tag, and so is ":path".
  std::string first = block({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}});
  first += std::string(
      "\x40\x01"
      "a\x01"
      "b",
      5);
  const std::string second = std::string("\xbe\x82\x86\x84", 4);
  EXPECT_EQ(serve(headers(1, first, end_both) + headers(3, second, end_both)).frames,
            "RST_STREAM 3 PROTOCOL_ERROR\n");
}

TEST(Http2ReceiveHeaders, AMalformedBlockIsFoundThoughNobodyPullsIt) {
  const story s =
      play({.input = from_client() + headers(1, block({{":path", "/"}}), end_both) + request(3, end_both),
            .first = [](session& at) { at.pulls_fields = false; }});
  EXPECT_EQ(s.events, "headers 1 end\nreset 1 PROTOCOL_ERROR library\nheaders 3 end\n");
}

TEST(Http2ReceiveHeaders, MalformedResponsesAreReset) {
  EXPECT_EQ(answer(headers(1, block({{"a", "b"}}), end_both)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(answer(headers(1, block({{":status", "99"}}), end_both)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(answer(headers(1, block({{":status", "200"}, {":path", "/"}}), end_both)).frames,
            "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2ReceiveHeaders, InterimResponsesComeBeforeTheFinalOne) {
  const story s = answer(headers(1, block({{":status", "100"}})) +
                         headers(1, block({{":status", "103"}, {"link", "x"}})) + response(1) +
                         data(1, "abc") + trailers(1));
  EXPECT_EQ(s.events,
            "informational 1 [:status=100]\ninformational 1 [:status=103 link=x]\nheaders 1 [:status=200]\n"
            "data 1 'abc'\ntrailers 1 [grpc-status=0] end\n");
}

TEST(Http2ReceiveHeaders, AnInterimResponseCannotEndTheStream) {
  const story s = answer(headers(1, block({{":status", "100"}}), end_both));
  EXPECT_EQ(s.frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(s.events, "reset 1 PROTOCOL_ERROR library\n");
}

TEST(Http2ReceiveHeaders, TrailersEndTheStream) {
  EXPECT_EQ(serve(request(1) + data(1, "abc") + trailers(1)).events,
            head1 + "\ndata 1 'abc'\ntrailers 1 [grpc-status=0] end\n");
  EXPECT_EQ(serve(request(1) + trailers(1)).events, head1 + "\ntrailers 1 [grpc-status=0] end\n");
}

TEST(Http2ReceiveHeaders, TrailersWithoutEndStreamAreMalformed) {
  const std::string block = frames::block({{"grpc-status", "0"}});
  EXPECT_EQ(serve(request(1) + headers(1, block)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(answer(response(1) + headers(1, block)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2ReceiveHeaders, TrailersHoldNoPseudoHeaders) {
  EXPECT_EQ(serve(request(1) + headers(1, block({{":path", "/"}}), end_both)).frames,
            "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2ReceiveHeaders, TheTableFollowsBlocksThatNobodyWants) {
  // Inserted by a block that is refused, referenced by the next stream's block.
  const std::string entering = request_block() + std::string(
                                                     "\x40\x01"
                                                     "a\x01"
                                                     "b",
                                                     5);
  const std::string using_it = request_block() + "\xbe";
  const std::string observed = "headers 3 [:method=POST :scheme=http :path=/a.B/C :authority=h a=b] end\n";
  EXPECT_EQ(serve(headers(1, u32(1) + '\x10' + entering, end_both | flag::priority) +
                  headers(3, using_it, end_both))
                .events,
            observed);
  EXPECT_EQ(
      serve(request(1, end_both) + headers(1, entering, end_both) + headers(3, using_it, end_both)).events,
      head1 + " end\nreset 1 STREAM_CLOSED library\n" + observed);
}

TEST(Http2ReceiveHeaders, SlotsAreFoundAgain) {
  std::vector<std::uint32_t> seen;
  session s(role::server, {}, [&](session& at, const event&) {
    for (field f; at.engine.next_field(f);) {
      if (f.name != ":path") continue;
      seen.push_back(f.slot);
      if (f.slot == 0) at.engine.set_slot(7);
    }
  });
  s.pulls_fields = false;
  s.feed(from_client() + request(1, end_both) + request(3, end_both) + request(5, end_both));
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 7, 7}));
}

TEST(Http2ReceiveHeaders, ASlotIsLeftAtTheFieldThatItIsFor) {
  std::string seen;
  session s(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    const bool fine = at.engine.read_fields([&](std::uint32_t slot, auto text) -> std::uint32_t {
      const field f = text();
      seen.append(f.name).append(slot > header_reader::slot_max ? " static "
                                                                : " " + std::to_string(slot) + " ");
      if (slot != 0 && slot <= header_reader::slot_max) return 99;  // not looked at: it has one
      return f.name == "x-a" ? 5 : f.name == ":path" ? 4 : 9;
    });
    seen.append(fine ? "good\n" : "bad\n");
  });
  s.pulls_fields = false;
  // The last field is in the static table, where no slot is left, after a field that has one.
  s.feed(from_client() +
         headers(1,
                 std::string("\x83\x86\x44\x02/p\x40\x03x-a\x01"
                             "1\x90"),
                 end_both) +
         headers(3, "\x83\x86\xbf\xbe\x90", end_both) + headers(5, "\x83\x86\xbf\xbe\x90", end_both));
  const std::string later = ":method static :scheme static :path 4 x-a 5 accept-encoding static good\n";
  EXPECT_EQ(seen,
            ":method static :scheme static :path 0 x-a 0 accept-encoding static good\n" + later + later);
}

TEST(Http2ReceiveHeaders, AUserMayReleaseAStreamWhileItsBlockIsBeingRead) {
  const story s = play({.input = from_client() + request(1) + data(1, "x", end) + request(3, end_both),
                        .react =
                            [](session& at, const event& e) {
                              if (e.id == 1) at.engine.release(e.stream);
                            },
                        .first = [](session& at) { at.pulls_fields = false; }});
  EXPECT_EQ(s.events, "headers 1\nheaders 3 end\n");
  EXPECT_EQ(s.frames, "RST_STREAM 1 CANCEL\n");
}

}  // namespace
}  // namespace coracle::http2::connection_receive_headers_test
