// Frames that have arrived together with the headers before them, and are taken at once: the content of a
// request, and the message and the trailers of a response. What is unusual arrives event by event.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>

namespace coracle::http2::frames_at_once_test {
namespace {

using namespace test;
using namespace test::frames;

// Takes the rest of a response wherever it can.
struct client {
  explicit client(const limits& l = {})
      : s(role::client, l, [this](session& at, const event& e) {
          if (e.type == event::kind::headers) on_headers(at, e);
        }) {
    s.pulls_fields = false;
    s.feed(from_server());
    for (int i = 0; i < 3; ++i) answer({});
    taken = 0;
    rest = {};
    s.take_frames();
  }
  void on_headers(session& at, const event& e) {
    std::span<const hpack::field> none;
    const std::uint32_t number = at.engine.header_block_number();
    if (number == 0 || !known.contains(number) || !at.engine.read_varying_fields(none)) {
      for (field f; at.engine.next_field(f);) continue;
      if (number != 0) known.insert(number);
      return;
    }
    if (e.trailers || e.end_stream || !at.engine.peek_rest(e.stream, bytes_max, rest)) return;
    EXPECT_TRUE(known.contains(rest.number));
    data = as_text(rest.data);
    if (declines) return;
    at.engine.take_rest(e.stream, rest);
    ++taken;
  }
  stream_id ask(bool end_stream = true) {
    last = s.open_and_request(end_stream);
    return s.engine.id_of(last);
  }
  // The differences of a response from the usual one.
  struct differences {
    std::string head = response_block();
    std::string message = "abc";
    unsigned data_flags = flag::none;
    std::string trailers = block({{"grpc-status", "0"}});
    unsigned trailers_flags = end_both;
  };
  static std::string response_to(stream_id id, const differences& d) {
    return headers(id, d.head) + frames::data(id, d.message, d.data_flags) +
           headers(id, d.trailers, d.trailers_flags);
  }
  void answer(const differences& d, bool half_closed = true) { s.feed(response_to(ask(half_closed), d)); }

  session s;
  std::set<std::uint32_t> known;
  stream_ref last = no_stream;
  response_rest rest;
  std::string data;
  std::size_t bytes_max = 100;
  bool declines = false;
  int taken = 0;
};

TEST(Http2ResponseRest, IsTakenInOnePiece) {
  client c;
  const std::string before = c.s.events();
  c.answer({.message = "hello"});
  EXPECT_EQ(c.taken, 1);
  EXPECT_EQ(c.data, "hello");
  EXPECT_EQ(c.s.events(), before + "headers 7\n") << "nothing follows";
  EXPECT_EQ(c.s.engine.open_streams(), 0u);
  c.s.engine.release(c.last);
  EXPECT_EQ(c.s.take_frames().find("RST_STREAM"), std::string::npos);
  c.answer({});
  EXPECT_EQ(c.taken, 2);
}

TEST(Http2ResponseRest, IsOfferedOnly) {
  client c;
  c.declines = true;
  c.answer({.message = "hello"});
  EXPECT_EQ(c.data, "hello");
  EXPECT_NE(c.s.events().find("data 7 'hello'\ntrailers 7 end\n"), std::string::npos) << c.s.events();
  c.declines = false;
  c.answer({});
  EXPECT_EQ(c.taken, 1);
}

TEST(Http2ResponseRest, IsNotOfferedIfAnythingIsUnusual) {
  const client::differences unusual[] = {
      {.head = block({{":status", "200"}, {"content-length", "3"}})},
      {.message = ""},
      {.message = std::string(101, 'a')},
      {.data_flags = flag::end_stream},
      {.message = padded("abc", 1), .data_flags = flag::padded},
      {.trailers = block({{"grpc-status", "5"}})},
      {.trailers_flags = flag::end_stream},
      {.trailers_flags = end_headers},
  };
  for (const client::differences& d : unusual) {
    client c;
    c.answer(d);
    EXPECT_EQ(c.taken, 0);
    EXPECT_EQ(c.rest.number, 0u);
  }
}

TEST(Http2ResponseRest, ThatContradictsContentLengthIsLeftToTheUsualCheck) {
  client c;
  const std::string head = block({{":status", "200"}, {"content-length", "4"}});
  for (int i = 0; i < 4; ++i) c.answer({.head = head, .message = "abc"});
  EXPECT_EQ(c.taken, 0);
  EXPECT_NE(c.s.take_frames().find("PROTOCOL_ERROR"), std::string::npos) << "three octets are not four";
}

TEST(Http2ResponseRest, IsNotTakenBeforeTheRequestHasEnded) {
  client c;
  c.answer({}, false);
  EXPECT_EQ(c.taken, 0);
}

TEST(Http2ResponseRest, IsNotTakenFromAnotherStream) {
  client c;
  const stream_id first = c.ask();
  const stream_id second = c.ask();
  const std::string trailers = headers(first, block({{"grpc-status", "0"}}), end_both);
  c.s.feed(headers(first, response_block()) + headers(second, response_block()) + data(first, "abc") +
           data(second, "def") + trailers);
  EXPECT_EQ(c.taken, 0);
  EXPECT_EQ(c.s.engine.open_streams(), 1u);
}

TEST(Http2ResponseRest, WaitsForTheWholeResponse) {
  client c;
  const std::string whole = client::response_to(c.ask(), {});
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    client in_two;
    const std::string bytes = client::response_to(in_two.ask(), {});
    const std::string before = in_two.s.events();
    in_two.s.feed(bytes.substr(0, cut));
    EXPECT_EQ(in_two.taken, 0) << cut;
    in_two.s.feed(bytes.substr(cut));
    const bool headers_in_second = cut < frame_header_bytes + response_block().size();
    EXPECT_EQ(in_two.taken, headers_in_second ? 1 : 0) << cut;
    EXPECT_EQ(in_two.s.engine.open_streams(), 0u) << cut;
  }
}

TEST(Http2ResponseRest, StaysWithinTheWindowOfTheStream) {
  limits l;
  l.initial_window_bytes = 10;
  client c(l);
  c.answer({.message = std::string(11, 'a')});
  EXPECT_EQ(c.taken, 0);
  EXPECT_NE(c.s.take_frames().find("FLOW_CONTROL_ERROR"), std::string::npos);
  c.answer({.message = std::string(10, 'a')});
  EXPECT_EQ(c.taken, 1);
}

TEST(Http2ResponseRest, CountsForTheWindowOfTheConnection) {
  limits l;
  l.connection_window_bytes = 65535;
  client c(l);
  c.bytes_max = 16384;
  std::string frames;
  for (int i = 0; i < 4; ++i) {
    c.answer({.message = std::string(12000, 'a')});
    c.s.engine.release(c.last);
    frames += c.s.take_frames();
  }
  EXPECT_EQ(c.taken, 4);
  EXPECT_NE(frames.find("WINDOW_UPDATE 0"), std::string::npos) << frames;
}

// Takes the content of requests wherever it can.
struct server {
  explicit server(const limits& l = {})
      : s(role::server, l, [this](session& at, const event& e) {
          if (e.type != event::kind::headers || e.trailers || e.end_stream) return;
          bytes_view content;
          if (!at.engine.peek_content(e.stream, bytes_max, content)) return;
          data = as_text(content);
          at.engine.take_content(e.stream, content);
          ++taken;
        }) {
    s.feed(from_client());
    s.take_frames();
  }
  session s;
  std::string data;
  std::size_t bytes_max = 100;
  int taken = 0;
};

TEST(Http2RequestContent, IsTakenWithTheHeaders) {
  server at;
  at.s.feed(request(1) + data(1, "abc", end));
  EXPECT_EQ(at.taken, 1);
  EXPECT_EQ(at.data, "abc");
  EXPECT_EQ(at.s.events().find("data"), std::string::npos) << at.s.events();
  EXPECT_TRUE(at.s.respond(at.s.stream(), true));
  EXPECT_EQ(at.s.engine.open_streams(), 0u) << "the request had ended";
}

TEST(Http2RequestContent, IsNotTakenIfAnythingIsUnusual) {
  const std::string unusual[] = {data(1, "abc"),
                                 data(1, "", end),
                                 data(1, std::string(101, 'a'), end),
                                 data(1, padded("abc", 1), flag::padded | flag::end_stream),
                                 data(1, "abc", end).substr(0, frame_header_bytes + 2),
                                 window_update(1, 1) + data(1, "abc", end),
                                 data(3, "abc", end)};
  for (const std::string& frames : unusual) {
    server at;
    at.s.feed(request(1) + frames);
    EXPECT_EQ(at.taken, 0);
  }
}

TEST(Http2RequestContent, ThatContradictsItsContentLengthIsLeftToTheUsualCheck) {
  server at;
  at.s.feed(headers(1, request_block() + block({{"content-length", "4"}})) + data(1, "abc", end));
  EXPECT_EQ(at.taken, 0);
  EXPECT_NE(at.s.take_frames().find("PROTOCOL_ERROR"), std::string::npos) << "three octets are not four";
}

TEST(Http2RequestContent, MayHaveItsContentLength) {
  server at;
  at.s.feed(headers(1, request_block() + block({{"content-length", "3"}})) + data(1, "abc", end));
  EXPECT_EQ(at.taken, 1);
  EXPECT_EQ(at.s.take_frames(), "");
}

TEST(Http2RequestContent, StaysWithinTheWindows) {
  limits l;
  l.initial_window_bytes = 10;
  server at(l);
  at.s.feed(request(1) + data(1, std::string(11, 'a'), end));
  EXPECT_EQ(at.taken, 0);
  EXPECT_NE(at.s.take_frames().find("FLOW_CONTROL_ERROR"), std::string::npos);
  at.s.feed(request(3) + data(3, std::string(10, 'a'), end));
  EXPECT_EQ(at.taken, 1);
}

}  // namespace
}  // namespace coracle::http2::frames_at_once_test
