// Headers that repeat those of an earlier request, response or trailers: a reader that keeps what it has read
// need not read them again.
#include "hpack/encoder.hpp"
#include "hpack/huffman.hpp"
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <array>
#include <map>
#include <ostream>
#include <random>
#include <span>
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
    std::span<const hpack::field> varying;
    const std::uint32_t before = engine.header_block_number();
    if (before != 0 && kept.contains(before) && engine.read_varying_fields(varying)) {
      ++repeated;
      last = engine.headers_ok() ? kept[before] : "bad";
      if (engine.headers_ok())
        for (const hpack::field& f : varying) replace(f);
      varied += static_cast<int>(varying.size());
      return;
    }
    last.clear();
    for (field f; engine.next_field(f);) last.append(f.name).append("=").append(f.value).append(" ");
    if (!engine.headers_ok()) last = "bad";
    if (const std::uint32_t number = engine.header_block_number(); number != 0 && engine.headers_ok())
      kept[number] = last;
  }
  // The value of a name that occurs once.
  void replace(const hpack::field& f) {
    const std::string name = " " + std::string(f.name) + "=";
    const std::size_t at = last.find(name) + name.size();
    last.replace(at, last.find(' ', at) - at, f.value);
  }
  session s;
  std::map<std::uint32_t, std::string> kept;  // by number
  std::string last;
  int repeated = 0;
  int varied = 0;  // values of literals that were read of repeated blocks
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
  EXPECT_EQ(k.repeated, 2) << "several are kept";
  EXPECT_EQ(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=h ");
}

TEST(Http2RepeatedHeads, TrailersOfRequestsRepeatNothing) {
  std::uint32_t number = 0, number_of_trailers = 1;
  bool repeated = true;
  session s(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    std::span<const hpack::field> varying;
    if (e.trailers) repeated = at.engine.read_varying_fields(varying);
    for (field f; at.engine.next_field(f);) continue;
    (e.trailers ? number_of_trailers : number) = at.engine.header_block_number();
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
  EXPECT_EQ(k.repeated, 2);
  // The same octets, but they now refer to the path of the newest entry.
  feed(encoded("/a.B/D"));
  feed(indexed);
  EXPECT_EQ(k.repeated, 2);
  EXPECT_NE(k.last, ":method=POST :scheme=http :path=/a.B/C :authority=h ");
}

// Keeps the headers that have a number, as a client does.
struct response_keeper {
  explicit response_keeper(const limits& l = {})
      : s(role::client, l, [this](session& at, const event& e) {
          if (e.type != event::kind::headers) return;
          if (e.informational) ++informational;
          else read(at.engine);
        }) {
    s.pulls_fields = false;
    s.feed(from_server());
  }
  void read(connection& engine) {
    std::span<const hpack::field> varying;
    const std::uint32_t number = engine.header_block_number();
    if (kept.contains(number) && engine.read_varying_fields(varying)) {
      ++repeated;
      EXPECT_TRUE(varying.empty());
      read_blocks.push_back(engine.headers_ok() ? kept[number] : "bad");
      return;
    }
    std::string text;
    for (field f; engine.next_field(f);) text.append(f.name).append("=").append(f.value).append(" ");
    if (number != 0 && engine.headers_ok()) kept[number] = text;
    read_blocks.push_back(engine.headers_ok() ? text : "bad");
  }
  // A request, and what the server answers.
  stream_id ask() {
    s.open_and_request(true);
    return odd(asked++);
  }
  void answer(std::string_view head, std::string_view trailers) {
    const stream_id id = ask();
    s.feed(headers(id, head) + headers(id, trailers, end_both));
  }
  std::vector<std::string> take() { return std::exchange(read_blocks, {}); }

  session s;
  std::map<std::uint32_t, std::string> kept;  // by number
  std::vector<std::string> read_blocks;
  int repeated = 0;
  int informational = 0;
  int asked = 0;
};

TEST(Http2RepeatedResponses, AreToldFromTheThirdOn) {
  response_keeper k;
  for (int i = 0; i < 5; ++i) {
    k.answer(response_block(), block({{"grpc-status", "0"}}));
    EXPECT_EQ(k.take(), (std::vector<std::string>{":status=200 ", "grpc-status=0 "}));
  }
  EXPECT_EQ(k.repeated, 6);
}

TEST(Http2RepeatedResponses, AreOfOneKind) {
  response_keeper k;
  const std::string fields = block({{"x-a", "b"}});
  for (int i = 0; i < 3; ++i) k.answer(response_block(), fields);
  const int before = k.repeated;
  k.take();
  k.answer(fields, response_block());
  EXPECT_EQ(k.take(), std::vector<std::string>{"bad"}) << "a response has a status, and trailers have none";
  EXPECT_EQ(k.repeated, before);
}

TEST(Http2RepeatedResponses, DifferInOneValue) {
  response_keeper k;
  const auto trailers = [](const char* code) { return block({{"grpc-status", code}}); };
  for (int i = 0; i < 3; ++i) k.answer(response_block(), trailers("0"));
  k.take();
  for (const char* code : {"5", "0", "5", "0", "5"}) {
    k.answer(response_block(), trailers(code));
    EXPECT_EQ(k.take(), (std::vector<std::string>{":status=200 ", std::string("grpc-status=") + code + " "}));
  }
  EXPECT_EQ(k.repeated, 2 + 5 + 3) << "of the last five, the first two of the code 5 are read";
}

TEST(Http2RepeatedResponses, MayBeInterim) {
  limits l;
  l.interim_responses = 3;
  response_keeper k(l);
  const std::string interim = block({{":status", "103"}, {"link", "a"}});
  for (int i = 0; i < 4; ++i) {
    const stream_id id = k.ask();
    k.s.feed(headers(id, interim) + headers(id, interim) + headers(id, response_block()) + trailers(id));
    EXPECT_EQ(k.take(), (std::vector<std::string>{":status=200 ", "grpc-status=0 "}));
  }
  EXPECT_EQ(k.informational, 8);
  EXPECT_EQ(k.s.take_frames().find("RST_STREAM"), std::string::npos);
  const stream_id refused = k.ask();
  for (int i = 0; i < 4; ++i) k.s.feed(headers(refused, interim));
  EXPECT_NE(k.s.take_frames().find("RST_STREAM " + std::to_string(refused) + " ENHANCE_YOUR_CALM"),
            std::string::npos);
  const stream_id ended = k.ask();
  k.s.feed(headers(ended, interim, end_both));
  EXPECT_NE(k.s.take_frames().find("RST_STREAM " + std::to_string(ended) + " PROTOCOL_ERROR"),
            std::string::npos);
}

TEST(Http2RepeatedResponses, AreStillCheckedAgainstTheirStream) {
  response_keeper k;
  const std::string head = block({{":status", "200"}, {"content-length", "3"}});
  for (int i = 0; i < 3; ++i) {
    const stream_id id = k.ask();
    k.s.feed(headers(id, head) + data(id, "abc", flag::end_stream));
  }
  EXPECT_EQ(k.repeated, 1);
  EXPECT_EQ(k.s.take_frames().find("RST_STREAM"), std::string::npos);
  const stream_id longer = k.ask();
  k.s.feed(headers(longer, head) + data(longer, "abcd"));
  EXPECT_NE(k.s.take_frames().find("RST_STREAM " + std::to_string(longer) + " PROTOCOL_ERROR"),
            std::string::npos);
  // A status without content, whose length is not that of the DATA that follows.
  const std::string empty = block({{":status", "204"}, {"content-length", "3"}});
  for (int i = 0; i < 3; ++i) k.s.feed(headers(k.ask(), empty, end_both));
  EXPECT_EQ(k.take().back(), ":status=204 content-length=3 ");
  EXPECT_EQ(k.repeated, 3);
  EXPECT_EQ(k.s.take_frames().find("RST_STREAM"), std::string::npos);
}

// What is known of a block is of no use if the peer has to change the size of its table first.
TEST(Http2RepeatedResponses, AreDecodedIfTheTableChanges) {
  response_keeper k;
  for (int i = 0; i < 3; ++i) k.answer(response_block(), block({{"grpc-status", "0"}}));
  k.take();
  const stream_id id = k.ask();
  k.s.feed(headers(id, "\x20" + response_block()) + trailers(id));
  EXPECT_EQ(k.take(), (std::vector<std::string>{":status=200 ", "grpc-status=0 "}));
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

// --- values that vary

// Requests of one client, whose encoder has a table.
struct varying_client {
  explicit varying_client(std::uint32_t table_bytes = hpack::default_table_bytes) : encoder(table_bytes) {}
  using one = std::pair<std::string_view, std::string_view>;
  std::string block(std::initializer_list<one> varying, hpack::indexing policy,
                    std::string_view path = "/a.B/C") {
    std::array<std::uint8_t, 4096> room{};
    std::uint8_t* out = encoder.begin_block(room.data());
    for (const auto& [name, value] :
         {one{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "h"}})
      out = encoder.encode(out, name, value, hpack::indexing::index);
    for (const auto& [name, value] : varying) out = encoder.encode(out, name, value, policy);
    out = encoder.encode(out, "te", "trailers", hpack::indexing::index);
    return {room.data(), out};
  }
  hpack::encoder encoder;
};
std::string micros(int i) { return std::to_string(9'000'000 + i) + "u"; }

class varying_values : public testing::TestWithParam<hpack::indexing> {
 protected:
  std::string request_with(std::initializer_list<varying_client::one> varying) {
    return headers(odd(next++), client.block(varying, GetParam()), end_both);
  }
  std::string expected(int i) const {
    return ":method=POST :scheme=http :path=/a.B/C :authority=h grpc-timeout=" + micros(i) + " te=trailers ";
  }
  keeper k;
  varying_client client;
  int next = 0;
};
INSTANTIATE_TEST_SUITE_P(Forms, varying_values,
                         testing::Values(hpack::indexing::index, hpack::indexing::no_index,
                                         hpack::indexing::never_index),
                         [](const auto& i) {
                           return i.param == hpack::indexing::index      ? "Inserted"
                                  : i.param == hpack::indexing::no_index ? "Literal"
                                                                         : "NeverIndexed";
                         });

TEST_P(varying_values, AreAllThatIsReadOfARepeatedBlock) {
  for (int i = 0; i < 40; ++i) {
    k.s.feed(request_with({{"grpc-timeout", micros(i)}}));
    ASSERT_EQ(k.last, expected(i));
  }
  EXPECT_GE(k.repeated, 34);
  EXPECT_EQ(k.varied, k.repeated);
}

// Some 70 timeouts fill the table; then the other fields are inserted anew.
TEST_P(varying_values, OutliveTheTable) {
  for (int i = 0; i < 1000; ++i) {
    k.s.feed(request_with({{"grpc-timeout", micros(i)}}));
    ASSERT_EQ(k.last, expected(i));
  }
  EXPECT_GE(k.repeated, 900);
}

TEST_P(varying_values, MayBeSeveral) {
  for (int i = 0; i < 40; ++i) {
    const std::string trace = "00-" + std::to_string(1000 + i) + "-01";
    k.s.feed(request_with({{"grpc-timeout", micros(i / 3)}, {"traceparent", trace}}));
    ASSERT_TRUE(
        k.last.ends_with("grpc-timeout=" + micros(i / 3) + " traceparent=" + trace + " te=trailers "));
  }
  EXPECT_GE(k.repeated, 15);
}

TEST_P(varying_values, AreCheckedAsAnyOther) {
  for (int i = 0; i < 10; ++i) k.s.feed(request_with({{"grpc-timeout", micros(i)}}));
  k.s.take_frames();
  const int repeated = k.repeated;
  k.s.feed(request_with({{"grpc-timeout", std::string_view("1\0u", 3)}}));
  EXPECT_EQ(k.last, "bad");
  EXPECT_GT(k.repeated, repeated);
  EXPECT_NE(k.s.take_frames().find("RST_STREAM 21 PROTOCOL_ERROR"), std::string::npos);
  k.s.feed(request_with({{"grpc-timeout", micros(77)}}));
  EXPECT_EQ(k.last, expected(77));
}

TEST_P(varying_values, CountForTheLimitOnLists) {
  limits l;
  l.header_list_bytes = 400;
  keeper small(l);
  for (int i = 0; i < 10; ++i) small.s.feed(request_with({{"grpc-timeout", micros(i)}}));
  EXPECT_GT(small.repeated, 4);
  small.s.take_frames();
  const std::string large(200, '7');
  small.s.feed(request_with({{"grpc-timeout", large}}));
  EXPECT_EQ(small.last, "bad");
  EXPECT_NE(small.s.take_frames().find("RST_STREAM 21 ENHANCE_YOUR_CALM"), std::string::npos);
  small.s.feed(request_with({{"grpc-timeout", micros(78)}}));
  EXPECT_EQ(small.last, expected(78));
}

TEST(Http2VaryingValues, OfSeveralMethodsAreToldApart) {
  keeper k;
  varying_client client;
  for (int i = 0; i < 400; ++i) {
    const std::string path = "/a.B/M" + std::to_string(i % 4);
    k.s.feed(
        headers(odd(i), client.block({{"grpc-timeout", micros(i)}}, hpack::indexing::index, path), end_both));
    ASSERT_EQ(k.last, ":method=POST :scheme=http :path=" + path + " :authority=h grpc-timeout=" + micros(i) +
                          " te=trailers ");
  }
  EXPECT_GE(k.repeated, 250);
}

// As nghttp2 sends them.
TEST(Http2VaryingValues, OfSeveralMethodsWithoutIndexAreToldApart) {
  keeper k;
  for (int i = 0; i < 400; ++i) {
    const std::string path = "/a.B/M" + std::to_string(i % 4);
    const std::string block = frames::block({{":method", "POST"},
                                             {":scheme", "http"},
                                             {":path", path},
                                             {":authority", "h"},
                                             {"grpc-timeout", micros(i)}});
    k.s.feed(headers(odd(i), block, end_both));
    ASSERT_EQ(k.last,
              ":method=POST :scheme=http :path=" + path + " :authority=h grpc-timeout=" + micros(i) + " ");
  }
  EXPECT_GE(k.repeated, 350);
}

TEST(Http2VaryingValues, OfMoreMethodsThanAreKeptAreToldApartForMostOfThem) {
  keeper k;
  varying_client client;
  for (int i = 0; i < 400; ++i) {
    const std::string path = "/a.B/M" + std::to_string(i % 5);
    k.s.feed(headers(odd(i), client.block({{"grpc-timeout", "1S"}}, hpack::indexing::index, path), end_both));
    ASSERT_EQ(k.last,
              ":method=POST :scheme=http :path=" + path + " :authority=h grpc-timeout=1S te=trailers ");
  }
  EXPECT_GE(k.repeated, 200);
}

// The values select how a request is read.
TEST(Http2VaryingValues, AreNotThoseOfContentTypesAndEncodings) {
  keeper k;
  varying_client client;
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    k.s.feed(headers(
        odd(i),
        client.block({{"content-type", value}, {"grpc-encoding", value}, {"grpc-accept-encoding", value}},
                     hpack::indexing::no_index),
        end_both));
  }
  EXPECT_EQ(k.repeated, 0);
}

TEST(Http2VaryingValues, AreNotThoseOfFieldsWithRules) {
  keeper k;
  varying_client client;
  for (int i = 0; i < 10; ++i) {
    const std::string length = std::to_string(i % 2);
    k.s.feed(
        headers(odd(i), client.block({{"content-length", length}}, hpack::indexing::no_index), end_headers) +
        data(odd(i), std::string(static_cast<std::size_t>(i % 2), 'x'), flag::end_stream));
    EXPECT_NE(k.last.find("content-length=" + length), std::string::npos);
  }
  EXPECT_EQ(k.varied, 0);
  EXPECT_EQ(k.s.take_frames().find("RST_STREAM"), std::string::npos);
}

TEST(Http2VaryingValues, WithABrokenCodeEndTheConnection) {
  keeper k;
  varying_client client;
  int next = 0;
  for (; next < 10; ++next)
    k.s.feed(
        headers(odd(next), client.block({{"grpc-timeout", micros(next)}}, hpack::indexing::index), end_both));
  const int repeated = k.repeated;
  // The length and a code of all ones, which is EOS, in place of the last value.
  std::string block = client.block({{"grpc-timeout", micros(next)}}, hpack::indexing::index);
  std::array<std::uint8_t, 16> room{};
  const std::string encoded(room.data(), hpack::huffman::encode(room.data(), micros(next)));
  const std::size_t at = block.find(encoded);
  ASSERT_NE(at, std::string::npos);
  block.replace(at, encoded.size(), encoded.size(), '\xff');
  k.s.feed(headers(odd(next), block, end_both));
  EXPECT_GT(k.repeated, repeated);
  EXPECT_NE(k.s.take_frames().find("COMPRESSION_ERROR"), std::string::npos);
}

// --- recorded clients

// Six unary calls of grpc-go 1.34 in ghz, each with a deadline 20 s away.
const std::vector<std::string_view> calls_of_grpc_go = {
    "838645956272d141fc1eca245f15852a4b631b87eb1968a0ff418b089d5c0b8170dc6c0fbe2f5f8b1d75d0620d263d4c"
    "4d65647a8a9acac8b4c7602bb2d2e040027465864d833505b11f40899acac8b24d494f6a7f870befbef3a26adf",
    "8386c3c2c1c0bf7e870befbefbef396f",
    "8386c4c3c2c1c07e870befbefbedb76f",
    "8386c5c4c3c2c17e870befbefbeeb56f",
    "8386c6c5c4c3c27e870befbefbef336f",
    "8386c7c6c5c4c37e870befbefbee86df",
};

// Nine unary calls of grpcio 1.85, whose timeouts are 10 s, five others, and 10 s three times.
const std::vector<std::string_view> calls_of_grpcio = {
    "40053a706174681c2f68656c6c6f776f726c642e477265657465722f53617948656c6c6f400a3a617574686f72697479"
    "0f3132372e302e302e313a35303939318386400c636f6e74656e742d74797065106170706c69636174696f6e2f677270"
    "634002746508747261696c6572734014677270632d6163636570742d656e636f64696e67176964656e746974792c2064"
    "65666c6174652c20677a6970400c677270632d74696d656f757403313053400a757365722d6167656e7430677270632d"
    "707974686f6e2f312e38352e3120677270632d632f35382e302e3020286c696e75783b2063687474703229",
    "c4c38386c2c1c0400c677270632d74696d656f75740631303430306dbf",
    "c5c48386c3c2c1400c677270632d74696d656f75740631303830306dc0",
    "c6c58386c4c3c2400c677270632d74696d656f75740631313230306dc1",
    "c7c68386c5c4c3400c677270632d74696d656f75740631313530306dc2",
    "c8c78386c6c5c4400c677270632d74696d656f75740631313930306dc3",
    "c9c88386c7c6c5c2c3",
    "c9c88386c7c6c5c2c3",
    "c9c88386c7c6c5c2c3",
};

std::string from_hex(std::string_view digits) {
  std::string octets;
  for (std::size_t i = 0; i < digits.size(); i += 2)
    octets += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  return octets;
}

// Feeds the header blocks, and returns what was read of the last one.
std::string read_all(keeper& k, const std::vector<std::string_view>& blocks) {
  session reads(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    std::string all;
    for (field f; at.engine.next_field(f);) all.append(f.name).append("=").append(f.value).append(" ");
    at.note(all);
  });
  reads.pulls_fields = false;
  reads.feed(from_client());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string text = headers(odd(static_cast<int>(i)), from_hex(blocks[i]), end_headers);
    k.s.feed(text);
    reads.feed(text);
    EXPECT_TRUE(reads.events().ends_with(k.last + "\n")) << i << ": " << k.last << "\n" << reads.events();
  }
  return k.last;
}

TEST(Http2VaryingValues, AreThoseOfGrpcGo) {
  keeper k;
  const std::string last = read_all(k, calls_of_grpc_go);
  EXPECT_TRUE(last.starts_with(":method=POST :scheme=http :path=/helloworld.Greeter/SayHello ")) << last;
  EXPECT_EQ(k.repeated, 3);
  EXPECT_EQ(k.varied, 3);
}

TEST(Http2VaryingValues, AreThoseOfGrpcio) {
  keeper k;
  const std::string last = read_all(k, calls_of_grpcio);
  EXPECT_TRUE(last.starts_with(":path=/helloworld.Greeter/SayHello ")) << last;
  EXPECT_EQ(k.repeated, 6);
  EXPECT_EQ(k.varied, 6);
}

// Blocks of many shapes and tables, compared with a reader that reads all fields.
class varying_header_blocks : public testing::TestWithParam<int> {};

TEST_P(varying_header_blocks, SayWhatReadingThemSays) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto policy = [&] {
    return std::array{hpack::indexing::index, hpack::indexing::no_index, hpack::indexing::never_index,
                      hpack::indexing::name_only}[static_cast<std::size_t>(draw(4))];
  };
  keeper k;
  std::string all;
  session reads(role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    all.clear();
    for (field f; at.engine.next_field(f);) all.append(f.name).append("=").append(f.value).append(" ");
    if (!at.engine.headers_ok()) all = "bad";
  });
  reads.pulls_fields = false;
  reads.feed(from_client());
  hpack::encoder encoder;
  std::vector<std::uint8_t> room(1 << 16);
  hpack::indexing timeouts = policy();
  hpack::indexing traces = policy();
  for (int i = 0; i < 600; ++i) {
    if (draw(60) == 0) timeouts = policy();
    if (draw(60) == 0) traces = policy();
    if (draw(50) == 0) encoder.set_peer_limit(static_cast<std::uint32_t>(draw(12) * 40));
    std::uint8_t* out = encoder.begin_block(room.data());
    const auto add = [&](std::string_view name, std::string_view value, hpack::indexing how) {
      out = encoder.encode(out, name, value, how);
    };
    add(":method", "POST", hpack::indexing::index);
    add(":scheme", "http", hpack::indexing::index);
    add(":path", "/a.B/" + std::to_string(draw(20) == 0 ? draw(6) : 0), hpack::indexing::index);
    add(":authority", "h", hpack::indexing::index);
    if (draw(10) != 0) add("grpc-timeout", draw(3) == 0 ? "5S" : micros(draw(5)), timeouts);
    if (draw(10) != 0) add("trace", std::to_string(random()), traces);
    if (draw(40) == 0)
      add("trace-two", draw(4) == 0 ? std::string("\0", 1) : std::to_string(draw(3)), traces);
    add("te", "trailers", hpack::indexing::index);
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
  EXPECT_GT(k.repeated, 20);
}
INSTANTIATE_TEST_SUITE_P(Seeds, varying_header_blocks, testing::Range(1, 41));

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
