// Request headers that repeat the octets of the previous request: a reader that keeps what it has read need
// not read them again.
#include "hpack/encoder.hpp"
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <array>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace coracle::http2::header_reader_cache_test {
namespace {

using namespace test;
using namespace test::frames;

// Keeps the last headers that have a number, as a server does.
struct keeper {
  explicit keeper(const limits& l = {})
      : s(role::server, l, [this](session& at, const event& e) {
          if (e.type == event::kind::headers && !e.trailers) read(at.engine);
        }) {
    s.pulls_fields = false;
    s.feed(from_client());
  }
  void read(connection& engine) {
    if (number != 0 && engine.header_block_matches(number)) {
      ++repeated;
      last = engine.headers_ok() ? kept : "bad";
      return;
    }
    last.clear();
    for (field f; engine.next_field(f);) last.append(f.name).append("=").append(f.value).append(" ");
    if (!engine.headers_ok()) last = "bad";
    number = engine.header_block_id();
    kept = last;
  }
  session s;
  std::uint32_t number = 0;
  std::string kept;
  std::string last;
  int repeated = 0;
};
stream_id odd(int i) { return static_cast<stream_id>(2 * i + 1); }

TEST(Http2RepeatedHeads, AreToldFromTheThirdOn) {
  keeper k;
  for (int i = 0; i < 5; ++i) k.s.feed(request(odd(i), end_both));
  EXPECT_EQ(k.repeated, 3);
  EXPECT_EQ(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=h ");
}

TEST(Http2RepeatedHeads, OneOctetMakesAnother) {
  keeper k;
  for (int i = 0; i < 3; ++i) k.s.feed(request(odd(i), end_both));
  EXPECT_EQ(k.repeated, 1);
  std::string other = request_block();
  other.back() = 'i';
  k.s.feed(headers(7, other, end_both));
  EXPECT_EQ(k.repeated, 1);
  EXPECT_EQ(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=i ");
  k.s.feed(request(9, end_both));
  EXPECT_EQ(k.repeated, 1);
  EXPECT_EQ(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=h ");
}

TEST(Http2RepeatedHeads, TrailersHaveNoNumberAndRepeatNoHead) {
  std::uint32_t number = 0, number_of_trailers = 1;
  bool repeated = true;
  session s(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    if (e.trailers) repeated = at.engine.header_block_matches(number);
    for (field f; at.engine.next_field(f);) continue;
    (e.trailers ? number_of_trailers : number) = at.engine.header_block_id();
  });
  s.pulls_fields = false;
  s.feed(from_client() + request(1, end_both) + request(3) + headers(3, request_block(), end_both));
  EXPECT_NE(number, 0u);
  EXPECT_FALSE(repeated);
  EXPECT_EQ(number_of_trailers, 0u);
}

TEST(Http2RepeatedHeads, MayComeInPieces) {
  keeper k;
  const std::string block = request_block();
  for (int i = 0; i < 3; ++i) k.s.feed(request(odd(i), end_both));
  k.s.feed(headers(7, block.substr(0, 3), flag::end_stream) + continuation(7, block.substr(3)));
  EXPECT_EQ(k.repeated, 2);
}

TEST(Http2RepeatedHeads, ReferToTheTableAsItWas) {
  keeper k;
  hpack::encoder encoder;
  std::array<std::uint8_t, 512> room{};
  const auto encoded = [&](std::string_view path) {
    std::uint8_t* out = encoder.begin_block(room.data());
    for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", path},
                                      {":authority", "h"}})
      out = encoder.encode(out, name, value, hpack::indexing::index);
    return std::string(room.data(), out);
  };
  const std::string entering = encoded("/a.B/C");
  const std::string indexed = encoded("/a.B/C");
  ASSERT_NE(entering, indexed);
  int next = 0;
  const auto feed = [&](const std::string& block) { k.s.feed(headers(odd(next++), block, end_both)); };
  feed(entering);
  for (int i = 0; i < 3; ++i) feed(indexed);
  EXPECT_EQ(k.repeated, 1);
  // The same octets, but they now refer to the path of the newest entry.
  feed(encoded("/a.B/D"));
  feed(indexed);
  EXPECT_EQ(k.repeated, 1);
  EXPECT_NE(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=h ");
}

// A block that is not a valid request changes the table, too, and is not remembered in place of the last one.
// The table has room for one entry: its count and its size remain the same.
struct between {
  const char* name;
  // On stream `id`: `entering` replaces the entry of the table.
  std::string (*frames)(stream_id id, const std::string& indexed, const std::string& entering);
};
void PrintTo(const between& b, std::ostream* to) { *to << b.name; }

class repeated_heads_after : public testing::TestWithParam<between> {};

TEST_P(repeated_heads_after, AreReadAnew) {
  const auto entering = [](char letter) { return "\x40\x01k\x01" + std::string(1, letter); };
  const std::string table_for_one_entry = "\x3f\x21";
  const std::string indexed = request_block() + "\xbe";
  keeper k;
  int next = 0;
  const auto feed = [&](const std::string& block) { k.s.feed(headers(odd(next++), block, end_both)); };
  feed(table_for_one_entry + request_block() + entering('a'));
  for (int i = 0; i < 3; ++i) feed(indexed);
  ASSERT_EQ(k.repeated, 1);
  ASSERT_TRUE(k.last.ends_with(" k=a "));
  k.s.feed(GetParam().frames(odd(next++), indexed, entering('b')));
  const int repeated = k.repeated;
  feed(indexed);
  EXPECT_EQ(k.repeated, repeated);
  EXPECT_TRUE(k.last.ends_with(" k=b ")) << k.last;
}
INSTANTIATE_TEST_SUITE_P(
    Blocks, repeated_heads_after,
    testing::Values(between{"Trailers",
                            [](stream_id id, const std::string& indexed, const std::string& entering) {
                              return headers(id, indexed) + headers(id, entering, end_both);
                            }},
                    between{"AMalformedRequest",
                            [](stream_id id, const std::string&, const std::string& entering) {
                              return headers(id, "\x83" + entering, end_both);
                            }},
                    between{"ARefusedRequest",
                            [](stream_id id, const std::string&, const std::string& entering) {
                              return raw(frame_type::headers, end_both | flag::priority, id,
                                         u32(id) + '\0' + request_block() + entering);
                            }}),
    [](const auto& i) { return std::string(i.param.name); });

TEST(Http2RepeatedHeads, AreStillCheckedAgainstTheirStream) {
  keeper k;
  const std::string block = request_block() + frames::block({{"content-length", "3"}});
  for (int i = 0; i < 3; ++i)
    k.s.feed(headers(odd(i), block, end_headers) + data(odd(i), "abc", flag::end_stream));
  EXPECT_EQ(k.repeated, 1);
  EXPECT_EQ(k.s.take_frames().find("RST_STREAM"), std::string::npos);
  k.s.feed(headers(7, block, end_both));
  EXPECT_EQ(k.repeated, 2);
  EXPECT_EQ(k.last, "bad");
  EXPECT_NE(k.s.take_frames().find("RST_STREAM 7 PROTOCOL_ERROR"), std::string::npos);
  k.s.feed(headers(9, block, end_headers) + data(9, "abcd"));
  EXPECT_NE(k.s.take_frames().find("RST_STREAM 9 PROTOCOL_ERROR"), std::string::npos);
}

TEST(Http2RepeatedHeads, AreNotBadOnes) {
  keeper k;
  for (int i = 0; i < 4; ++i) k.s.feed(headers(odd(i), block({{":path", "/"}}), end_both));
  EXPECT_EQ(k.repeated, 0);
  EXPECT_EQ(k.last, "bad");
}

TEST(Http2RepeatedHeads, AreForgottenWithTheMemoryOfIdleConnections) {
  keeper k;
  for (int i = 0; i < 3; ++i) k.s.feed(request(odd(i), end_both));
  k.s.engine.release_idle_memory();
  k.s.feed(request(7, end_both));
  EXPECT_EQ(k.repeated, 1);
}

TEST(Http2RepeatedHeads, OfMoreThanAKibibyteAreReadEachTime) {
  keeper k;
  const std::string block = request_block() + frames::block({{"long", std::string(2000, 'x')}});
  for (int i = 0; i < 4; ++i) k.s.feed(headers(odd(i), block, end_both));
  EXPECT_EQ(k.repeated, 0);
}

// Compared with a reader that reads all headers: fields that recur, tables that shrink and grow, fields that
// evict others.
class repeated_header_blocks : public testing::TestWithParam<int> {};

TEST_P(repeated_header_blocks, SayWhatReadingThemSays) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  hpack::encoder encoder;
  keeper k;
  std::string all;
  session reads(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    all.clear();
    for (field f; at.engine.next_field(f);) all.append(f.name).append("=").append(f.value).append(" ");
  });
  reads.pulls_fields = false;
  reads.feed(from_client());
  std::vector<std::uint8_t> room(1 << 16);
  int shape = 0;
  for (int i = 0; i < 400; ++i) {
    if (draw(8) == 0) shape = draw(6);
    if (draw(40) == 0) encoder.set_peer_limit(static_cast<std::uint32_t>(draw(4) * 1024));
    std::uint8_t* out = encoder.begin_block(room.data());
    const auto add = [&](std::string_view name, std::string_view value, bool index) {
      out = encoder.encode(out, name, value, index ? hpack::indexing::index : hpack::indexing::no_index);
    };
    add(":method", "POST", true);
    add(":scheme", "http", true);
    add(":path", "/a.B/" + std::to_string(shape), shape % 2 == 0);
    add(":authority", "h", true);
    if (shape == 3) add("long", std::string(1500, static_cast<char>('a' + draw(3))), true);
    const std::string text = headers(odd(i), std::string(room.data(), out), end_both);
    k.s.feed(text);
    reads.feed(text);
    ASSERT_EQ(k.last, all) << "head " << i;
    for (session* one : {&k.s, &reads}) {
      one->engine.reset(one->stream(), error_code::no_error);
      one->take_frames();
    }
    k.s.now += std::chrono::seconds(1);
    reads.now = k.s.now;
  }
  EXPECT_GT(k.repeated, 100);
}
INSTANTIATE_TEST_SUITE_P(Seeds, repeated_header_blocks, testing::Range(1, 21));

// --- answers in one piece

struct answering {
  explicit answering(const limits& l = {}) : s(role::server, l, [](session&, const event&) {}) {
    s.feed(from_client());
    s.feed(request(1, end_both));
    s.take_frames();
  }
  bool reply(std::string_view message) {
    const std::string head = block({{":status", "200"}});
    const std::string trailers = block({{"grpc-status", "0"}});
    const unary_response r{as_bytes(head), message.size(), as_bytes(trailers)};
    std::uint8_t* const to = s.engine.reserve_reply(s.stream(), r);
    if (!to) return false;
    std::memcpy(to, message.data(), message.size());
    s.engine.commit_reply(s.stream(), r);
    return true;
  }
  session s;
};

TEST(Http2WholeReply, IsWhatItsPiecesAre) {
  answering whole;
  ASSERT_TRUE(whole.reply("hello"));
  answering pieces;
  ASSERT_TRUE(pieces.s.engine.send_block(pieces.s.stream(), as_bytes(block({{":status", "200"}})), false));
  std::uint8_t* const to = pieces.s.engine.reserve_data(pieces.s.stream(), 5);
  ASSERT_TRUE(to);
  std::memcpy(to, "hello", 5);
  pieces.s.engine.commit_data(pieces.s.stream(), 5, false);
  ASSERT_TRUE(pieces.s.engine.send_block(pieces.s.stream(), as_bytes(block({{"grpc-status", "0"}})), true));
  pieces.s.engine.release(pieces.s.stream());
  EXPECT_EQ(as_text(whole.s.engine.output().pending()), as_text(pieces.s.engine.output().pending()));
  for (const answering* a : {&whole, &pieces}) {
    EXPECT_EQ(a->s.engine.open_streams(), 0u);
    EXPECT_EQ(a->s.engine.data_sent(), 5u);
  }
}

TEST(Http2WholeReply, TakesItsPartOfTheWindows) {
  answering a;
  ASSERT_TRUE(a.reply(std::string(16000, 'x')));
  for (stream_id id = 3; id <= 7; id += 2) a.s.feed(request(id, end_both));
  EXPECT_TRUE(a.reply(std::string(16000, 'x')));
  EXPECT_FALSE(a.reply(std::string(16385, 'x'))) << "more than a frame";
}

TEST(Http2WholeReply, WaitsForNoWindow) {
  answering a;
  for (stream_id id = 1; id <= 9; id += 2) {
    if (id != 1) a.s.feed(request(id, end_both));
    EXPECT_EQ(a.reply(std::string(16000, 'x')), id < 9) << id << ": the connection's window is 65,535 octets";
  }
}

TEST(Http2WholeReply, IsNotForWhoHasBegunOrEnded) {
  answering begun;
  ASSERT_TRUE(begun.s.engine.send_block(begun.s.stream(), as_bytes(block({{":status", "200"}})), false));
  EXPECT_FALSE(begun.reply("x"));
  answering over;
  over.s.engine.reset(over.s.stream(), error_code::cancel);
  EXPECT_FALSE(over.reply("x"));
}

}  // namespace
}  // namespace coracle::http2::header_reader_cache_test
