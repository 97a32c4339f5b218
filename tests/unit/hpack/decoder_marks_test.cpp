// Marks: values that a user attaches to fields that recur.
#include "hpack/decoder.hpp"

#include "unit/hpack/blocks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::hpack::decoder_marks_test {
namespace {

using testing::block;
using testing::decode;
using testing::entering;
using testing::from_hex;
using testing::indexed;
using testing::never;
using testing::operator+;
using testing::plain;
using testing::size_update;
using step = decoder::step;

// Returns the only field of the block, which must outlive the use of the decoder.
void go_to_field(decoder& d, const block& b) {
  d.start(b);
  ASSERT_EQ(d.next(), step::field);
}

// Marks the current field for the next time, in the literal cache if it is a literal.
void mark_and_keep(decoder& d, std::uint32_t mark) {
  d.set_mark(mark);
  d.keep();
}

TEST(HpackDecoderMarks, AMarkStaysWithItsDynamicEntry) {
  decoder d;
  const block first = entering(4, "/a");
  go_to_field(d, first);
  EXPECT_EQ(d.mark(), 0u);
  d.set_mark(7);
  EXPECT_EQ(d.mark(), 7u);
  decode(d, entering("other", "field"));
  const block again = indexed(63);
  go_to_field(d, again);
  EXPECT_EQ(d.current().value, "/a");
  EXPECT_EQ(d.mark(), 7u);
  const block other = indexed(62);
  go_to_field(d, other);
  EXPECT_EQ(d.mark(), 0u);
}

TEST(HpackDecoderMarks, AnEvictedEntryTakesItsMarkAlong) {
  decoder d;
  const block path = entering(4, "/a");
  go_to_field(d, path);
  d.set_mark(7);
  decode(d, size_update(0) + size_update(4096));
  go_to_field(d, path);
  EXPECT_EQ(d.mark(), 0u);
}

TEST(HpackDecoderMarks, StaticEntriesHaveTheMarksThatTheDecoderWasTold) {
  static_marks marks{};
  marks[3] = 5;
  decoder d({}, &marks);
  const block post = indexed(3);
  go_to_field(d, post);
  EXPECT_EQ(d.mark(), 5u);
  mark_and_keep(d, 7);
  EXPECT_EQ(d.mark(), 5u);
  const block get = indexed(2);
  go_to_field(d, get);
  EXPECT_EQ(d.mark(), 0u);
}

TEST(HpackDecoderMarks, ALiteralIsCachedOnceItIsKept) {
  decoder d;
  const block path = plain(4, "/movie.MovieService/AddMovie");
  go_to_field(d, path);
  mark_and_keep(d, 9);
  EXPECT_EQ(d.current().value, "/movie.MovieService/AddMovie");
  const block other_place = path;
  go_to_field(d, other_place);
  EXPECT_EQ(d.current().name, ":path");
  EXPECT_EQ(d.current().value, "/movie.MovieService/AddMovie");
  EXPECT_EQ(d.mark(), 9u);
  d.set_mark(10);
  go_to_field(d, path);
  EXPECT_EQ(d.mark(), 10u);
}

TEST(HpackDecoderMarks, AHuffmanLiteralComesOutOfTheCacheDecoded) {
  decoder d;
  const block authority = from_hex("018c f1e3 c2e5 f23a 6ba0 ab90 f4ff");
  const block whole = from_hex("0088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf");
  for (std::uint32_t round = 0; round < 3; ++round) {
    go_to_field(d, authority);
    EXPECT_EQ(d.current().value, "www.example.com");
    EXPECT_EQ(d.mark(), round);
    mark_and_keep(d, round + 1);
    go_to_field(d, whole);
    EXPECT_EQ(d.current().name, "custom-key");
    EXPECT_EQ(d.current().value, "custom-value");
    EXPECT_EQ(d.mark(), round * 10);
    mark_and_keep(d, (round + 1) * 10);
  }
}

TEST(HpackDecoderMarks, ALiteralThatIsNotKeptIsNotCached) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  d.set_mark(5);
  EXPECT_EQ(d.mark(), 5u);
  go_to_field(d, b);
  EXPECT_EQ(d.mark(), 0u);
  EXPECT_EQ(d.capacity_bytes(), 0u);
}

TEST(HpackDecoderMarks, OtherFormsOfTheSameLiteralAreOtherKeys) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  mark_and_keep(d, 9);
  for (const block& other : {plain(5, "/a"), plain(":path", "/a"), plain(4, "/b")}) {
    go_to_field(d, other);
    EXPECT_EQ(d.mark(), 0u);
  }
}

TEST(HpackDecoderMarks, SecretsLongLiteralsAndDynamicNamesAreNotCached) {
  decoder d;
  decode(d, entering("name", "value"));
  const std::size_t before = d.capacity_bytes();
  for (const block& b : {never("a", "1"), plain(4, std::string(128, 'x')), plain(62, "v")}) {
    go_to_field(d, b);
    mark_and_keep(d, 9);
    go_to_field(d, b);
    EXPECT_EQ(d.mark(), 0u);
  }
  EXPECT_EQ(d.capacity_bytes(), before);
}

TEST(HpackDecoderMarks, TheLongestCachedLiteralHas128Bytes) {
  decoder d;
  const block b = plain(4, std::string(126, 'x'));
  ASSERT_EQ(b.size(), 128u);
  go_to_field(d, b);
  mark_and_keep(d, 9);
  go_to_field(d, b);
  EXPECT_EQ(d.mark(), 9u);
  // The densest Huffman string: 125 bytes of '0', two hundred of them.
  block dense = from_hex("04 fd");
  dense.insert(dense.end(), 125, 0x00);
  go_to_field(d, dense);
  EXPECT_EQ(d.current().value, std::string(200, '0'));
  mark_and_keep(d, 8);
  go_to_field(d, dense);
  EXPECT_EQ(d.mark(), 8u);
  EXPECT_EQ(d.current().value, std::string(200, '0'));
}

TEST(HpackDecoderMarks, TheCacheHasRoomForSixteenAndReplaces) {
  decoder d;
  const auto path = [](int i) { return plain(4, "/service/" + std::to_string(i)); };
  for (int i = 1; i <= 100; ++i) {
    const block b = path(i);
    go_to_field(d, b);
    mark_and_keep(d, static_cast<std::uint32_t>(i));
    EXPECT_EQ(d.mark(), static_cast<std::uint32_t>(i));
  }
  int kept = 0;
  for (int i = 1; i <= 100; ++i) {
    const block b = path(i);
    go_to_field(d, b);
    EXPECT_EQ(d.current().value, "/service/" + std::to_string(i));
    if (d.mark() == 0) continue;
    EXPECT_EQ(d.mark(), static_cast<std::uint32_t>(i));
    ++kept;
  }
  EXPECT_GT(kept, 4);
  EXPECT_LE(kept, 16);
}

TEST(HpackDecoderMarks, TheCacheOutlivesTableSizeChanges) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  mark_and_keep(d, 9);
  decode(d, size_update(0));
  go_to_field(d, b);
  EXPECT_EQ(d.mark(), 9u);
}

TEST(HpackDecoderMarks, BetweenFieldsThereIsNothingToAttachTo) {
  decoder d;
  mark_and_keep(d, 1);
  EXPECT_EQ(d.mark(), 0u);
  const block b = entering("a", "1");
  d.start(b);
  while (d.next() == step::field) {
  }
  mark_and_keep(d, 1);
  const block again = indexed(62);
  go_to_field(d, again);
  EXPECT_EQ(d.mark(), 0u);
}

TEST(HpackDecoderMarks, ReleasedLiteralsAreDecodedAnewAndEnteredAgain) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  mark_and_keep(d, 7);
  EXPECT_EQ(d.next(), step::end);
  const std::size_t bytes = d.capacity_bytes();
  d.release_literals();
  EXPECT_LT(d.capacity_bytes(), bytes);
  go_to_field(d, b);
  EXPECT_EQ(d.current().value, "/a");
  EXPECT_EQ(d.mark(), 0u);
  mark_and_keep(d, 9);
  go_to_field(d, b);
  EXPECT_EQ(d.mark(), 9u);
}

TEST(HpackDecoderMarks, MarkedFieldsAreReadInOnePass) {
  static_marks marks{};
  marks[3] = 5;
  decoder d({}, &marks);
  const block first = entering("a", "1") + entering("bb", "2");
  d.start(first);
  for (std::uint32_t mark = 6; d.next() == step::field; ++mark) d.set_mark(mark);
  const block again = indexed(63) + indexed(3) + indexed(62) + indexed(2) + indexed(62);
  d.start(again);
  std::string seen;
  const auto take = [&](std::uint32_t mark, std::uint32_t bytes, auto text) {
    seen += std::to_string(mark) + ":" + std::string(text().name) + "/" + std::to_string(bytes) + " ";
    return true;
  };
  d.read_marked(take);
  EXPECT_EQ(seen, "6:a/2 5::method/11 7:bb/3 ") << "it ends before a field without a mark";
  ASSERT_EQ(d.next(), step::field);
  EXPECT_EQ(d.current().value, "GET");
  d.read_marked([&](auto...) {
    d.set_mark(9);  // there is no current field
    return false;
  });
  d.read_marked(take);
  EXPECT_EQ(seen, "6:a/2 5::method/11 7:bb/3 7:bb/3 ") << "what is refused is not read, and has its mark";
  EXPECT_EQ(d.next(), step::end);
}

TEST(HpackDecoderMarks, NothingIsReadInOnePassThatIsNoIndexOfOneOctet) {
  static_marks marks{};
  for (std::uint32_t i = 1; i <= static_entry_count; ++i) marks[i] = 1;
  for (const block& b :
       {plain(4, "/a"), entering(4, "/a"), indexed(62), indexed(200), block{0x80}, block{}}) {
    decoder d({}, &marks);
    d.start(b);
    int read = 0;
    d.read_marked([&](auto...) {
      ++read;
      return true;
    });
    EXPECT_EQ(read, 0);
  }
}

TEST(HpackDecoderMarks, WhatThrowsHasReadNothing) {
  static_marks marks{};
  marks.fill(1);
  decoder d({}, &marks);
  const block b = indexed(2) + indexed(3);
  d.start(b);
  int calls = 0;
  EXPECT_THROW(d.read_marked([&](auto...) -> bool { return ++calls < 2 ? true : throw 0; }), int);
  ASSERT_EQ(d.next(), step::field);
  EXPECT_EQ(d.current().value, "GET");
}

}  // namespace
}  // namespace coracle::hpack::decoder_marks_test
