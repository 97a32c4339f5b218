#include "protocol/web/body_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace coracle::protocol::web::body_reader_test {
namespace {

using state = body_reader::state;
constexpr std::uint8_t last_flag = 0x80;

std::string framed(std::string_view body, std::uint8_t flags = 0) {
  std::string out(envelope_prefix_bytes, '\0');
  write_envelope_prefix(reinterpret_cast<std::uint8_t*>(out.data()), flags,
                        static_cast<std::uint32_t>(body.size()));
  return out.append(body);
}

// What a caller sees of a body that arrives in the given pieces.
struct outcome {
  std::string messages;
  std::string last;
  state end = state::need_more;
  friend bool operator==(const outcome&, const outcome&) = default;
};

void read_piece(body_reader& reader, std::string_view piece, outcome& out) {
  bytes_view rest = as_bytes(piece);
  while (true) {
    const std::size_t before = rest.size();
    switch (const state s = reader.next(rest)) {
      case state::need_more: EXPECT_TRUE(rest.empty()); return;
      case state::messages:
        EXPECT_EQ(reader.messages().size(), before - rest.size());
        EXPECT_FALSE(reader.messages().empty());
        out.messages += as_text(reader.messages());
        break;
      case state::last:
        EXPECT_TRUE(reader.complete());
        out.last = reader.last();
        out.end = s;
        break;
      default: out.end = s; return;
    }
  }
}

outcome read_in_two(std::string_view body, std::size_t cut, std::uint32_t max = 100) {
  body_reader reader(last_flag, max);
  outcome out;
  read_piece(reader, body.substr(0, cut), out);
  read_piece(reader, body.substr(cut), out);
  return out;
}

TEST(BodyReader, SeparatesTheLastFrameFromTheMessagesAtEverySplit) {
  const std::string messages =
      framed("") + framed("a", 1) + framed(std::string(300, 'b')) + framed("c", 0x7f);
  const std::string body = messages + framed("status", last_flag);
  for (std::size_t cut = 0; cut <= body.size(); ++cut)
    EXPECT_EQ(read_in_two(body, cut), (outcome{messages, "status", state::last})) << cut;
  for (std::size_t step = 1; step <= body.size(); ++step) {
    body_reader reader(last_flag, 100);
    outcome out;
    for (std::size_t at = 0; at < body.size(); at += step)
      read_piece(reader, std::string_view(body).substr(at, step), out);
    EXPECT_EQ(out, (outcome{messages, "status", state::last})) << step;
  }
}

TEST(BodyReader, TellsWhetherTheLastFrameIsCompressed) {
  for (const std::uint8_t flags : {last_flag, static_cast<std::uint8_t>(last_flag | 1)}) {
    body_reader reader(last_flag, 100);
    const std::string body = framed("x", flags);
    bytes_view rest = as_bytes(body);
    ASSERT_EQ(reader.next(rest), state::last);
    EXPECT_EQ(reader.last_compressed(), flags != last_flag);
  }
}

TEST(BodyReader, ReadsAnEmptyLastFrame) {
  const std::string body = framed("", last_flag);
  for (std::size_t cut = 0; cut <= body.size(); ++cut)
    EXPECT_EQ(read_in_two(body, cut), (outcome{"", "", state::last})) << cut;
}

TEST(BodyReader, KnowsAtEveryPointWhetherTheBodyMayEnd) {
  const std::string body = framed("ab") + framed("c") + framed("xy", last_flag);
  const std::vector<std::size_t> boundaries{0, 7, 13, 20};
  body_reader reader(last_flag, 100);
  outcome out;
  EXPECT_TRUE(reader.empty());
  for (std::size_t i = 0; i <= body.size(); ++i) {
    const bool boundary = std::find(boundaries.begin(), boundaries.end(), i) != boundaries.end();
    EXPECT_EQ(reader.inside_frame(), !boundary) << i;
    EXPECT_EQ(reader.empty(), i == 0) << i;
    EXPECT_EQ(reader.complete(), i == body.size()) << i;
    if (i < body.size()) read_piece(reader, std::string_view(body).substr(i, 1), out);
  }
}

TEST(BodyReader, RefusesBytesAfterTheLastFrame) {
  const std::string body = framed("s", last_flag) + "x";
  for (std::size_t cut = 0; cut <= body.size(); ++cut)
    EXPECT_EQ(read_in_two(body, cut).end, state::bytes_after_last) << cut;
}

TEST(BodyReader, RefusesALastFrameOverTheLimitByItsPrefixAlone) {
  const std::string body = framed(std::string(11, 'x'), last_flag);
  for (std::size_t cut = 0; cut <= envelope_prefix_bytes; ++cut) {
    EXPECT_EQ(read_in_two(std::string_view(body).substr(0, 5), cut, 10).end, state::last_too_large) << cut;
    EXPECT_EQ(read_in_two(body, cut, 11).end, state::last) << cut;
  }
}

TEST(BodyReader, RefusesFlagsOfTheLastFrameThatMeanNothing) {
  const std::string body = framed("x", last_flag | 0x02);
  EXPECT_EQ(read_in_two(std::string_view(body).substr(0, 1), 0).end, state::bad_last_flag);
}

TEST(BodyReader, RepeatsItsError) {
  body_reader reader(last_flag, 1);
  outcome out;
  read_piece(reader, framed("toolong", last_flag), out);
  ASSERT_EQ(out.end, state::last_too_large);
  out.end = state::need_more;
  read_piece(reader, framed("x"), out);
  EXPECT_EQ(out, (outcome{"", "", state::last_too_large}));
}

TEST(BodyReader, HoldsNoMemoryForMessagesOfAnyLength) {
  body_reader reader(last_flag, 100);
  std::string prefix = framed("");
  write_envelope_prefix(reinterpret_cast<std::uint8_t*>(prefix.data()), 0, 0xffff'ffff);
  outcome out;
  read_piece(reader, prefix, out);
  read_piece(reader, std::string(1000, '\x80'), out);  // bytes of the message, not a flag
  EXPECT_EQ(out.messages.size(), 1005u);
  EXPECT_EQ(out.end, state::need_more);
  EXPECT_TRUE(reader.inside_frame());
}

}  // namespace
}  // namespace coracle::protocol::web::body_reader_test
