// Received prefaces, frame headers and DATA.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http2::connection_receive_test {
namespace {

using namespace test;
using namespace test::frames;

const std::string head1 = "headers 1 [:method=POST :scheme=http :path=/a.B/C :authority=h]";
const std::string told1 = head1 + "\n";

story serve(const std::string& input, const limits& l = {}) {
  return play({.side = role::server, .input = from_client() + input, .bounds = l});
}
// A client that has sent a complete request on stream 1.
story answer(const std::string& input, const limits& l = {}) {
  return play({.side = role::client,
               .input = from_server() + input,
               .first = [](session& s) { s.open_and_request(true); },
               .bounds = l});
}
std::string died(const std::string& code, const std::string& reason, const std::string& last = "1") {
  return "GOAWAY " + last + " " + code + " '" + reason + "'\n";
}

// --- prefaces

TEST(Http2Receive, ABadPrefaceIsReportedAndNothingIsSent) {
  const story s = play({.input = "INVALID CONNECTION PREFACE\r\n\r\n"});
  EXPECT_EQ(s.events, "no preface\n");
  EXPECT_EQ(s.frames, "");
}

TEST(Http2Receive, APrefaceThatIsWrongAtItsEndIsReported) {
  const story s = play({.input = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\r"});
  EXPECT_EQ(s.events, "no preface\n");
}

// However the bytes are cut, the request can be put together again.
TEST(Http2Receive, ARequestOfHttp1IsHandedOver) {
  const std::string request = "POST /p.S/M HTTP/1.1\r\nhost: h\r\n\r\n";
  for (std::size_t piece = 1; piece <= request.size(); ++piece) {
    connection server(role::server, {}, time_point{});
    std::string handed_over;
    for (std::size_t at = 0; at < request.size() && !server.failed(); at += piece) {
      EXPECT_TRUE(server.awaits_preface()) << piece;
      server.feed(as_bytes(std::string_view(request).substr(at, piece)), time_point{});
      for (event e = server.next(); e.type != event::kind::none; e = server.next()) {
        ASSERT_EQ(e.type, event::kind::no_preface) << piece;
        handed_over = client_preface.substr(0, server.preface_bytes());
        handed_over.append(as_text(e.data)).append(request, std::min(at + piece, request.size()));
      }
    }
    EXPECT_EQ(handed_over, request) << piece;
    EXPECT_TRUE(server.output().empty()) << piece;
    EXPECT_EQ(server.next_timeout(), never) << piece;
  }
}

// A peer that has sent nothing when the drain begins is notified of it after its preface.
TEST(Http2Receive, ARequestOfHttp1IsHandedOverWhileTheServerDrains) {
  connection server(role::server, {}, time_point{});
  server.drain();
  EXPECT_TRUE(server.awaits_preface());
  server.feed(as_bytes(std::string_view("GET / HTTP/1.1\r\n")), time_point{});
  EXPECT_EQ(server.next().type, event::kind::no_preface);
  EXPECT_TRUE(server.output().empty());
}

TEST(Http2Receive, TheOutputOfADrainWaitsForThePrefaceUntilTheFinalGoaway) {
  connection server(role::server, {}, time_point{});
  server.drain();
  EXPECT_TRUE(server.awaits_preface());
  server.on_timeout(time_point{} + limits{}.drain_timeout);
  EXPECT_FALSE(server.awaits_preface());
  // Data that was sent cannot be replaced any more.
  server.output().consume(server.output().size());
  server.feed(as_bytes(std::string_view("GET / HTTP/1.1\r\n")), time_point{});
  EXPECT_EQ(server.next().type, event::kind::failed);
  EXPECT_TRUE(server.failed());
  EXPECT_TRUE(server.output().empty());
}

TEST(Http2Receive, WithAWholePrefaceTheOutputMayBeSent) {
  connection server(role::server, {}, time_point{});
  server.feed(as_bytes(client_preface.substr(0, 23)), time_point{});
  while (server.next().type != event::kind::none) continue;
  EXPECT_TRUE(server.awaits_preface());
  server.feed(as_bytes(client_preface.substr(23)), time_point{});
  while (server.next().type != event::kind::none) continue;
  EXPECT_FALSE(server.awaits_preface());
}

TEST(Http2Receive, TheFirstFrameOfAClientMustBeSettings) {
  const story s = play({.input = std::string(client_preface) + ping("12345678")});
  EXPECT_EQ(s.frames, died("PROTOCOL_ERROR", "the first frame is not SETTINGS (RFC 9113 3.4)", "0"));
}

TEST(Http2Receive, TheFirstFrameOfAServerMustBeSettings) {
  const story s = play({.side = role::client, .input = window_update(0, 1)});
  EXPECT_EQ(s.frames, died("PROTOCOL_ERROR", "the first frame is not SETTINGS (RFC 9113 3.4)", "0"));
}

TEST(Http2Receive, AServerThatSpeaksAnotherProtocolIsNamed) {
  const std::pair<std::string, const char*> peers[] = {
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "it answers in HTTP/1 (is this the port of its gRPC service?)"},
      {"HTTP/1.", "it answers in HTTP/1"},
      {"<!DOCTYPE HTML>", "it answers with a page of HTML"},
      {"SSH-2.0-OpenSSH_9.2p1\r\n", "it is an SSH server"},
      {std::string("\x15\x03\x01\x00\x02\x02\x46", 7),
       "the server requires TLS, and the client connects in plaintext"},
      // The length of this record looks like the type of SETTINGS.
      {std::string("\x16\x03\x03\x04\x00", 5) + std::string(1024, 's'),
       "the server requires TLS, and the client connects in plaintext"},
      {"220 mail.example ESMTP\r\n", "its first octets are no frame (RFC 9113 3.4)"},
  };
  for (const auto& [input, name] : peers) {
    const story s = play({.side = role::client, .input = input});
    EXPECT_NE(s.events.find(name), std::string::npos) << s.events;
    EXPECT_NE(s.events.find("failed PROTOCOL_ERROR"), std::string::npos) << s.events;
  }
}

TEST(Http2Receive, AnAckIsNoFirstSettings) {
  const story s = play({.side = role::client, .input = settings_ack()});
  EXPECT_EQ(s.frames, died("PROTOCOL_ERROR", "the first frame is not SETTINGS (RFC 9113 3.4)", "0"));
}

TEST(Http2Receive, OurPrefaceComesFirstFromBothRoles) {
  connection client(role::client, {}, time_point{});
  EXPECT_TRUE(as_text(client.output().pending()).starts_with(client_preface));
  EXPECT_EQ(spell_frames(as_text(client.output().pending())),
            "SETTINGS 2=0 4=1048576 6=16384\nWINDOW_UPDATE 0 +327681\n");
  connection server(role::server, {}, time_point{});
  EXPECT_EQ(spell_frames(as_text(server.output().pending())),
            "SETTINGS 3=1000 4=1048576 6=16384\nWINDOW_UPDATE 0 +327681\n");
}

// --- frames

TEST(Http2Receive, UnknownFramesAreIgnored) {
  const story s = serve(raw(static_cast<frame_type>(0xbe), 0xff, 7, "whatever") + request(1, end_both));
  EXPECT_EQ(s.events, head1 + " end\n");
  EXPECT_EQ(s.frames, "");
}

TEST(Http2Receive, AnUnknownFrameWithinAHeaderBlockIsAConnectionError) {
  const story s = serve(request(1, 0) + raw(static_cast<frame_type>(0xbe), 0, 0, ""));
  EXPECT_EQ(s.frames, died("PROTOCOL_ERROR", "another frame within a header block (RFC 9113 6.10)", "0"));
}

TEST(Http2Receive, TheReservedBitOfAStreamIdIsIgnored) {
  std::string frame = request(1, end_both);
  frame[5] = static_cast<char>(frame[5] | 0x80);
  EXPECT_EQ(serve(frame).events, head1 + " end\n");
}

TEST(Http2Receive, AFrameAboveTheMaximumIsAConnectionError) {
  const story s = serve(request(1) + data(1, std::string(16385, 'x')));
  EXPECT_EQ(s.frames,
            died("FRAME_SIZE_ERROR", "frame length exceeds SETTINGS_MAX_FRAME_SIZE (RFC 9113 4.2)"));
  EXPECT_EQ(
      s.events,
      told1 +
          "reset 1 FRAME_SIZE_ERROR library\n"
          "failed FRAME_SIZE_ERROR library: frame length exceeds SETTINGS_MAX_FRAME_SIZE (RFC 9113 4.2)\n");
}

TEST(Http2Receive, PushPromiseIsAConnectionErrorInBothRoles) {
  EXPECT_EQ(serve(request(1) + raw(frame_type::push_promise, end_headers, 1, u32(2))).frames,
            died("PROTOCOL_ERROR", "PUSH_PROMISE is not permitted (RFC 9113 8.4)"));
  EXPECT_EQ(answer(raw(frame_type::push_promise, end_headers, 1, u32(2))).frames,
            "HEADERS 1 end\nSETTINGS ack\n" +
                died("PROTOCOL_ERROR", "PUSH_PROMISE is not permitted (RFC 9113 8.4)", "0"));
}

// --- DATA

TEST(Http2Receive, DataComesInPiecesAndEndsWithItsFrame) {
  const story s = serve(request(1) + data(1, "abc") + data(1, "def", end));
  EXPECT_EQ(s.events, told1 + "data 1 'abcdef' end\n");
}

TEST(Http2Receive, AnEmptyDataFrameMayEndTheStream) {
  EXPECT_EQ(serve(request(1) + data(1, "abc") + data(1, "", end)).events, told1 + "data 1 'abc' end\n");
}

TEST(Http2Receive, PaddingIsTakenOff) {
  const story s =
      serve(request(1) + data(1, padded("abc", 5), flag::padded) + data(1, padded("def", 0), flag::padded) +
            data(1, padded("", 255), flag::padded | end));
  EXPECT_EQ(s.events, told1 + "data 1 'abcdef' end\n");
}

TEST(Http2Receive, PaddingAsLongAsThePayloadIsAConnectionError) {
  const story s = serve(request(1) + data(1, std::string("\x04") + "abc", flag::padded));
  EXPECT_EQ(s.frames, died("PROTOCOL_ERROR", "padding exceeds the payload of DATA (RFC 9113 6.1)"));
}

TEST(Http2Receive, PaddedDataWithoutAPadLengthIsAConnectionError) {
  EXPECT_EQ(serve(request(1) + data(1, "", flag::padded)).frames,
            died("FRAME_SIZE_ERROR", "padded DATA without a pad length (RFC 9113 6.1)"));
}

TEST(Http2Receive, DataOnStreamZeroIsAConnectionError) {
  EXPECT_EQ(serve(data(0, "x")).frames, died("PROTOCOL_ERROR", "DATA on stream 0 (RFC 9113 6.1)", "0"));
}

TEST(Http2Receive, DataOnAnEvenStreamIsAConnectionError) {
  EXPECT_EQ(serve(request(3) + data(2, "x")).frames,
            died("PROTOCOL_ERROR", "DATA on stream 2 in state idle (RFC 9113 5.1)", "3"));
}

TEST(Http2Receive, DataBeyondTheStreamsWindowResetsTheStream) {
  limits l;
  l.initial_window_bytes = 5;
  const story s = serve(request(1) + data(1, "abcde") + data(1, "f") + request(3, end_both), l);
  EXPECT_EQ(s.frames, "RST_STREAM 1 FLOW_CONTROL_ERROR\n");
  EXPECT_EQ(s.events, told1 +
                          "data 1 'abcde'\nreset 1 FLOW_CONTROL_ERROR library\n"
                          "headers 3 [:method=POST :scheme=http :path=/a.B/C :authority=h] end\n");
}

TEST(Http2Receive, DataBeyondTheConnectionsWindowIsAConnectionError) {
  limits l;
  l.connection_window_bytes = 65535;
  std::string input = request(1);
  for (int i = 0; i < 4; ++i) input += data(1, std::string(16384, 'x'));
  const story s = play({.input = from_client() + input,
                        .first = [](session& at) { at.engine.withhold_credit(true); },
                        .bounds = l});
  EXPECT_EQ(s.frames,
            died("FLOW_CONTROL_ERROR", "DATA exceeds the window of the connection (RFC 9113 6.9.1)"));
}

TEST(Http2Receive, PaddingCountsForFlowControl) {
  limits l;
  l.initial_window_bytes = 100;
  const story s = serve(request(1) + data(1, padded("a", 100), flag::padded), l);
  EXPECT_EQ(s.frames, "RST_STREAM 1 FLOW_CONTROL_ERROR\n");
}

TEST(Http2Receive, CreditForPaddingComesBackByItself) {
  limits l;
  l.initial_window_bytes = 100;
  const std::string padding = data(1, padded("", 60), flag::padded);
  EXPECT_EQ(serve(request(1) + padding + padding, l).frames, "WINDOW_UPDATE 1 +61\nWINDOW_UPDATE 1 +61\n");
  const story s =
      play({.input = from_client() + request(1) + data(1, padded("a", 40), flag::padded) +
                     data(1, std::string(8, 'b')),
            .react = [](session& at, const event& e) { at.engine.consume(e.stream, e.data.size()); },
            .bounds = l});
  EXPECT_EQ(s.frames, "WINDOW_UPDATE 1 +50\n");
}

TEST(Http2Receive, CreditComesBackAtHalfAWindow) {
  limits l;
  l.initial_window_bytes = 10;
  l.connection_window_bytes = 65535;
  const auto consumes = [](session& at, const event& e) { at.engine.consume(e.stream, e.data.size()); };
  EXPECT_EQ(
      play({.input = from_client() + request(1) + data(1, "abcd"), .react = consumes, .bounds = l}).frames,
      "");
  EXPECT_EQ(play({.input = from_client() + request(1) + data(1, "abcd") + data(1, "e"),
                  .react = consumes,
                  .bounds = l})
                .frames,
            "WINDOW_UPDATE 1 +5\n");
  std::string bulk = request(1);
  for (int i = 0; i < 2; ++i) bulk += data(1, std::string(16384, 'x'));
  l.initial_window_bytes = 65535;
  EXPECT_EQ(serve(bulk, l).frames, "WINDOW_UPDATE 0 +32768\n");
}

TEST(Http2Receive, WithheldCreditComesBackWhenItIsAllowed) {
  limits l;
  l.connection_window_bytes = 65535;
  std::string bulk = request(1);
  for (int i = 0; i < 3; ++i) bulk += data(1, std::string(16384, 'x'));
  const auto withhold = [](session& at) { at.engine.withhold_credit(true); };
  EXPECT_EQ(play({.input = from_client() + bulk, .first = withhold, .bounds = l}).frames, "");
  const auto allow = [](session& at) { at.engine.withhold_credit(false); };
  EXPECT_EQ(play({.input = from_client() + bulk, .first = withhold, .last = allow, .bounds = l}).frames,
            "WINDOW_UPDATE 0 +49152\n");
}

TEST(Http2Receive, DataForAStreamThatWasResetStillCountsForTheConnection) {
  limits l;
  l.connection_window_bytes = 65535;
  std::string bulk = request(1);
  for (int i = 0; i < 2; ++i) bulk += data(1, std::string(16384, 'x'));
  const story s =
      play({.input = from_client() + bulk,
            .react = [](session& at, const event& e) { at.engine.reset(e.stream, error_code::cancel); },
            .bounds = l});
  EXPECT_EQ(s.frames, "RST_STREAM 1 CANCEL\nWINDOW_UPDATE 0 +32768\n");
  EXPECT_EQ(s.events, told1);
}

TEST(Http2Receive, ASmallerInitialWindowHoldsFromItsAckOn) {
  limits l;
  l.initial_window_bytes = 10;
  const std::string before = std::string(client_preface) + settings();
  const story early = play({.input = before + request(1) + data(1, std::string(20, 'x')), .bounds = l});
  EXPECT_EQ(early.events, told1 + "data 1 'xxxxxxxxxxxxxxxxxxxx'\n");
  const story late =
      play({.input = before + request(1) + data(1, std::string(8, 'x')) + settings_ack() + data(1, "yyy"),
            .bounds = l});
  EXPECT_EQ(late.events, told1 + "data 1 'xxxxxxxx'\nreset 1 FLOW_CONTROL_ERROR library\n");
}

// --- content-length, RFC 9113 8.1.1

std::string with_length(stream_id id, std::string_view length, unsigned flags = end_headers) {
  return headers(
      id, block({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {"content-length", length}}),
      flags);
}
const std::string length_head = "headers 1 [:method=POST :scheme=http :path=/ content-length=3]";

TEST(Http2Receive, AContentLengthThatIsKeptIsFine) {
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "a") + data(1, "bc", end)).events,
            length_head + "\ndata 1 'abc' end\n");
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "abc") + trailers(1)).events,
            length_head + "\ndata 1 'abc'\ntrailers 1 [grpc-status=0] end\n");
  EXPECT_EQ(serve(with_length(1, "0", end_both)).frames, "");
}

TEST(Http2Receive, LessDataThanContentLengthResetsTheStream) {
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "ab", end)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "ab") + trailers(1)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(serve(with_length(1, "3", end_both)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2Receive, MoreDataThanContentLengthResetsTheStream) {
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "ab") + data(1, "cd")).frames,
            "RST_STREAM 1 PROTOCOL_ERROR\n");
  EXPECT_EQ(serve(with_length(1, "3") + data(1, "abcd", end)).frames, "RST_STREAM 1 PROTOCOL_ERROR\n");
}

TEST(Http2Receive, AResponseWithoutContentMayHaveAContentLength) {
  const std::string length = block({{":status", "304"}, {"content-length", "3"}});
  EXPECT_EQ(answer(headers(1, length, end_both)).events, "headers 1 [:status=304 content-length=3] end\n");
  const std::string of_head = block({{":status", "200"}, {"content-length", "3"}});
  const story s = play({.side = role::client,
                        .input = from_server() + headers(1, of_head, end_both),
                        .first = [](session& at) {
                          at.engine.begin_headers(at.open());
                          at.engine.add_field(":method", "HEAD");
                          at.engine.end_headers(true);
                        }});
  EXPECT_EQ(s.events, "headers 1 [:status=200 content-length=3] end\n");
}

TEST(Http2Receive, DataBeforeAResponsesHeadersResetsTheStream) {
  EXPECT_EQ(answer(data(1, "x")).events, "reset 1 PROTOCOL_ERROR library\n");
  const std::string interim = headers(1, block({{":status", "103"}}));
  EXPECT_EQ(answer(interim + data(1, "x")).events,
            "informational 1 [:status=103]\nreset 1 PROTOCOL_ERROR library\n");
}

TEST(Http2Receive, AStreamResetAmidItsDataFrameGivesNoMoreOfIt) {
  session s(role::server, {}, [](session& at, const event& e) {
    if (e.type == event::kind::data) at.engine.reset(e.stream, error_code::cancel);
  });
  const std::string frame = data(1, "abcdef", end);
  s.feed(from_client() + request(1) + frame.substr(0, 12));
  s.feed(frame.substr(12));
  EXPECT_EQ(s.events(), told1 + "data 1 'abc'\n");
}

}  // namespace
}  // namespace coracle::http2::connection_receive_test
