// Slots and tags: what a user attaches to fields that recur.
#include "hpack/decoder.hpp"

#include "unit/hpack/blocks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::hpack {
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

// Goes to the only field of the block, which must outlive the use of the decoder.
void go_to_field(decoder& d, const block& b) {
  d.start(b);
  ASSERT_EQ(d.next(), step::field);
}

TEST(HpackDecoderSlots, ASlotStaysWithItsDynamicEntry) {
  decoder d;
  const block first = entering(4, "/a");
  go_to_field(d, first);
  EXPECT_EQ(d.slot(), 0u);
  d.set_slot(7);
  d.set_tag(2);
  EXPECT_EQ(d.slot(), 7u);
  decode(d, entering("other", "field"));
  const block again = indexed(63);
  go_to_field(d, again);
  EXPECT_EQ(d.current().value, "/a");
  EXPECT_EQ(d.slot(), 7u);
  EXPECT_EQ(d.tag(), 2u);
  const block other = indexed(62);
  go_to_field(d, other);
  EXPECT_EQ(d.slot(), 0u);
  EXPECT_EQ(d.tag(), 0u);
}

TEST(HpackDecoderSlots, AnEvictedEntryTakesItsSlotAlong) {
  decoder d;
  const block path = entering(4, "/a");
  go_to_field(d, path);
  d.set_slot(7);
  decode(d, size_update(0) + size_update(4096));
  go_to_field(d, path);
  EXPECT_EQ(d.slot(), 0u);
  EXPECT_FALSE(d.validated());
}

TEST(HpackDecoderSlots, StaticEntriesHaveTagsAndNoSlots) {
  decoder d;
  const block post = indexed(3);
  go_to_field(d, post);
  d.set_slot(7);
  d.set_validated();
  go_to_field(d, post);
  EXPECT_EQ(d.slot(), 0u);
  EXPECT_TRUE(d.validated());
  const block get = indexed(2);
  go_to_field(d, get);
  EXPECT_FALSE(d.validated());
}

TEST(HpackDecoderSlots, ALiteralIsCachedOnceItHasASlot) {
  decoder d;
  const block path = plain(4, "/movie.MovieService/AddMovie");
  go_to_field(d, path);
  d.set_tag(5);
  d.set_slot(9);
  EXPECT_EQ(d.current().value, "/movie.MovieService/AddMovie");
  const block other_place = path;
  go_to_field(d, other_place);
  EXPECT_EQ(d.current().name, ":path");
  EXPECT_EQ(d.current().value, "/movie.MovieService/AddMovie");
  EXPECT_EQ(d.slot(), 9u);
  EXPECT_EQ(d.tag(), 5u);
  d.set_slot(10);
  d.set_tag(6);
  go_to_field(d, path);
  EXPECT_EQ(d.slot(), 10u);
  EXPECT_EQ(d.tag(), 6u);
}

TEST(HpackDecoderSlots, AHuffmanLiteralComesOutOfTheCacheDecoded) {
  decoder d;
  const block authority = from_hex("018c f1e3 c2e5 f23a 6ba0 ab90 f4ff");
  const block whole = from_hex("0088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf");
  for (std::uint32_t round = 0; round < 3; ++round) {
    go_to_field(d, authority);
    EXPECT_EQ(d.current().value, "www.example.com");
    EXPECT_EQ(d.slot(), round);
    d.set_slot(round + 1);
    go_to_field(d, whole);
    EXPECT_EQ(d.current().name, "custom-key");
    EXPECT_EQ(d.current().value, "custom-value");
    EXPECT_EQ(d.slot(), round * 10);
    d.set_slot((round + 1) * 10);
  }
}

TEST(HpackDecoderSlots, ALiteralWithoutASlotIsNotCached) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  d.set_tag(5);
  EXPECT_EQ(d.tag(), 5u);
  go_to_field(d, b);
  EXPECT_EQ(d.tag(), 0u);
  EXPECT_EQ(d.capacity_bytes(), 0u);
}

TEST(HpackDecoderSlots, OtherFormsOfTheSameLiteralAreOtherKeys) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  d.set_slot(9);
  for (const block& other : {plain(5, "/a"), plain(":path", "/a"), plain(4, "/b")}) {
    go_to_field(d, other);
    EXPECT_EQ(d.slot(), 0u);
  }
}

TEST(HpackDecoderSlots, SecretsLongLiteralsAndDynamicNamesAreNotCached) {
  decoder d;
  decode(d, entering("name", "value"));
  const std::size_t before = d.capacity_bytes();
  for (const block& b : {never("a", "1"), plain(4, std::string(128, 'x')), plain(62, "v")}) {
    go_to_field(d, b);
    d.set_slot(9);
    EXPECT_EQ(d.slot(), 0u);
    EXPECT_EQ(d.remember().where, entry_ref::place::none);
    go_to_field(d, b);
    EXPECT_EQ(d.slot(), 0u);
  }
  EXPECT_EQ(d.capacity_bytes(), before);
}

TEST(HpackDecoderSlots, TheLongestCachedLiteralHas128Bytes) {
  decoder d;
  const block b = plain(4, std::string(126, 'x'));
  ASSERT_EQ(b.size(), 128u);
  go_to_field(d, b);
  d.set_slot(9);
  go_to_field(d, b);
  EXPECT_EQ(d.slot(), 9u);
  // The densest Huffman string: 125 bytes of '0', two hundred of them.
  block dense = from_hex("04 fd");
  dense.insert(dense.end(), 125, 0x00);
  go_to_field(d, dense);
  EXPECT_EQ(d.current().value, std::string(200, '0'));
  d.set_slot(8);
  go_to_field(d, dense);
  EXPECT_EQ(d.slot(), 8u);
  EXPECT_EQ(d.current().value, std::string(200, '0'));
}

TEST(HpackDecoderSlots, TheCacheHasRoomForSixteenAndReplaces) {
  decoder d;
  const auto path = [](int i) { return plain(4, "/service/" + std::to_string(i)); };
  for (int i = 1; i <= 100; ++i) {
    const block b = path(i);
    go_to_field(d, b);
    d.set_slot(static_cast<std::uint32_t>(i));
    EXPECT_EQ(d.slot(), static_cast<std::uint32_t>(i));
  }
  int kept = 0;
  for (int i = 1; i <= 100; ++i) {
    const block b = path(i);
    go_to_field(d, b);
    EXPECT_EQ(d.current().value, "/service/" + std::to_string(i));
    if (d.slot() == 0) continue;
    EXPECT_EQ(d.slot(), static_cast<std::uint32_t>(i));
    ++kept;
  }
  EXPECT_GT(kept, 4);
  EXPECT_LE(kept, 16);
}

TEST(HpackDecoderSlots, TheCacheOutlivesTableSizeChanges) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  d.set_slot(9);
  decode(d, size_update(0));
  go_to_field(d, b);
  EXPECT_EQ(d.slot(), 9u);
}

TEST(HpackDecoderSlots, ARememberedDynamicEntryTakesASlotLater) {
  decoder d;
  const block b = entering(4, "/a") + entering("x", "y");
  d.start(b);
  ASSERT_EQ(d.next(), step::field);
  const entry_ref ref = d.remember();
  ASSERT_EQ(d.next(), step::field);
  ASSERT_EQ(d.next(), step::end);
  d.set_slot(ref, 7);
  const block again = indexed(63);
  go_to_field(d, again);
  EXPECT_EQ(d.slot(), 7u);
  decode(d, size_update(0) + size_update(4096) + entering(4, "/b") + entering(4, "/c"));
  d.set_slot(ref, 8);
  const block newest = indexed(62);
  go_to_field(d, newest);
  EXPECT_EQ(d.slot(), 0u);
}

TEST(HpackDecoderSlots, ARememberedLiteralTakesASlotLater) {
  decoder d;
  const block b = plain(4, "/a") + indexed(2);
  d.start(b);
  ASSERT_EQ(d.next(), step::field);
  d.set_tag(3);
  const entry_ref ref = d.remember();
  EXPECT_EQ(d.tag(), 3u);
  EXPECT_EQ(d.slot(), 0u);
  decode(d, indexed(2));
  d.set_slot(ref, 7);
  const block again = plain(4, "/a");
  go_to_field(d, again);
  EXPECT_EQ(d.slot(), 7u);
  EXPECT_EQ(d.tag(), 3u);
}

TEST(HpackDecoderSlots, AReferenceToAReplacedLiteralDoesNothing) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  const entry_ref ref = d.remember();
  for (int i = 0; i < 1000; ++i) {
    const block other = plain(4, "/" + std::to_string(i));
    go_to_field(d, other);
    d.set_slot(1);
  }
  d.set_slot(ref, 7);
  for (int i = 0; i < 1000; ++i) {
    const block other = plain(4, "/" + std::to_string(i));
    go_to_field(d, other);
    EXPECT_LE(d.slot(), 1u);
  }
}

TEST(HpackDecoderSlots, AReferenceToNothingDoesNothing) {
  decoder d;
  const block b = indexed(2);
  go_to_field(d, b);
  d.set_slot(d.remember(), 7);
  d.set_slot(entry_ref{}, 7);
  EXPECT_EQ(d.slot(), 0u);
}

TEST(HpackDecoderSlots, ClearedSlotsLeaveTagsAndFields) {
  decoder d;
  const block b = entering(4, "/a") + plain(4, "/b");
  d.start(b);
  while (d.next() == step::field) {
    d.set_tag(4);
    d.set_slot(7);
  }
  d.clear_slots();
  const block again = indexed(62) + plain(4, "/b");
  d.start(again);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(d.next(), step::field);
    EXPECT_EQ(d.slot(), 0u);
    EXPECT_EQ(d.tag(), 4u);
  }
}

TEST(HpackDecoderSlots, BetweenFieldsThereIsNothingToAttachTo) {
  decoder d;
  d.set_slot(1);
  d.set_tag(1);
  EXPECT_EQ(d.slot(), 0u);
  const block b = entering("a", "1");
  d.start(b);
  while (d.next() == step::field) {
  }
  d.set_slot(1);
  d.set_tag(1);
  const block again = indexed(62);
  go_to_field(d, again);
  EXPECT_EQ(d.slot(), 0u);
  EXPECT_EQ(d.tag(), 0u);
}

TEST(HpackDecoderSlots, ReleasedLiteralsAreDecodedAnewAndEnteredAgain) {
  decoder d;
  const block b = plain(4, "/a");
  go_to_field(d, b);
  const entry_ref before = d.remember();
  d.set_slot(7);
  EXPECT_EQ(d.next(), step::end);
  const std::size_t bytes = d.capacity_bytes();
  d.release_literals();
  EXPECT_LT(d.capacity_bytes(), bytes);
  d.set_slot(before, 8);  // nothing is there any more
  go_to_field(d, b);
  EXPECT_EQ(d.current().value, "/a");
  EXPECT_EQ(d.slot(), 0u);
  d.set_slot(9);
  go_to_field(d, b);
  EXPECT_EQ(d.slot(), 9u);
}

}  // namespace
}  // namespace coracle::hpack
