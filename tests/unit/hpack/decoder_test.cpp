#include "hpack/decoder.hpp"

#include "unit/hpack/reference_decoder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::hpack::decoder_test {
namespace {

using testing::block;
using testing::decode;
using testing::entering;
using testing::from_hex;
using testing::indexed;
using testing::never;
using testing::operator+;
using testing::outcome;
using testing::owned_field;
using testing::plain;
using testing::size_update;
using step = decoder::step;

outcome decoded_alone(const block& b) {
  decoder d;
  return decode(d, b);
}
decode_error error_of(const block& b) { return decoded_alone(b).error; }
outcome fields(std::vector<owned_field> list) { return {std::move(list), decode_error::none}; }

TEST(HpackDecoder, AnEmptyBlockHasNoFields) { EXPECT_EQ(decoded_alone({}), fields({})); }

TEST(HpackDecoder, EveryFormOfAFieldIsRead) {
  EXPECT_EQ(decoded_alone(indexed(3)), fields({{":method", "POST"}}));
  EXPECT_EQ(decoded_alone(entering("a", "1")), fields({{"a", "1"}}));
  EXPECT_EQ(decoded_alone(entering(4, "/x")), fields({{":path", "/x"}}));
  EXPECT_EQ(decoded_alone(plain("a", "1")), fields({{"a", "1"}}));
  EXPECT_EQ(decoded_alone(plain(58, "me")), fields({{"user-agent", "me"}}));
  EXPECT_EQ(decoded_alone(never("a", "1")), fields({{"a", "1", true}}));
  EXPECT_EQ(decoded_alone(entering("", "")), fields({{"", ""}}));
}

TEST(HpackDecoder, TheLastStaticAndTheFirstDynamicIndexAreNeighbours) {
  EXPECT_EQ(decoded_alone(entering("a", "1") + indexed(61) + indexed(62)),
            fields({{"a", "1"}, {"www-authenticate", ""}, {"a", "1"}}));
}

TEST(HpackDecoder, IndicesOfSeveralBytesReachOldEntries) {
  block b;
  for (int i = 0; i < 100; ++i) b = b + entering("n", std::to_string(i));
  decoder d;
  decode(d, b);
  EXPECT_EQ(decode(d, indexed(62 + 99)), fields({{"n", "0"}}));
  EXPECT_EQ(decode(d, indexed(62 + 65)), fields({{"n", "34"}}));
  EXPECT_EQ(decode(d, indexed(62 + 100)).error, decode_error::index_out_of_range);
}

TEST(HpackDecoder, WrongIndicesAreErrors) {
  EXPECT_EQ(error_of(indexed(0)), decode_error::index_zero);
  EXPECT_EQ(error_of(indexed(62)), decode_error::index_out_of_range);
  EXPECT_EQ(error_of(from_hex("ff00")), decode_error::index_out_of_range);
  EXPECT_EQ(error_of(plain(62, "x")), decode_error::index_out_of_range);
  EXPECT_EQ(error_of(entering(1000, "x")), decode_error::index_out_of_range);
}

TEST(HpackDecoder, TooLargeIntegersAreErrorsWhereverTheyStand) {
  for (const char* prefix : {"ff", "7f", "0f", "1f", "3f", "007f", "00ff", "0001617f"}) {
    EXPECT_EQ(error_of(from_hex(prefix) + from_hex("ffff ffff 7f")), decode_error::integer_too_large)
        << prefix;
    EXPECT_EQ(error_of(from_hex(prefix) + from_hex("8080 8080 8000")), decode_error::integer_too_large)
        << prefix;
    EXPECT_EQ(error_of(from_hex(prefix) + from_hex("80")), decode_error::truncated) << prefix;
  }
}

TEST(HpackDecoder, ABlockCutWithinAFieldIsAnError) {
  for (const block& whole : {entering("name", "value"), plain(4, "/value"), never("name", "value"),
                             from_hex("8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff")}) {
    testing::reference_decoder reference;
    const outcome all = reference.decode(whole);
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
      const outcome o = decoded_alone(block(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
      EXPECT_TRUE(o.error == decode_error::truncated || o.fields.size() + 1 == all.fields.size());
    }
  }
}

TEST(HpackDecoder, AStringLongerThanTheBlockIsAnErrorBeforeItsMemoryIsTaken) {
  decoder d;
  EXPECT_EQ(decode(d, from_hex("0081 ffff 0f")).error, decode_error::truncated);
  EXPECT_EQ(d.capacity_bytes(), 0u);
}

TEST(HpackDecoder, TheLimitOnStringsCountsDecodedCharacters) {
  for (const std::uint32_t length : {6u, 7u, 8u, 9u, 10u, 11u}) {
    decoder raw({.string_bytes_max = 10});
    EXPECT_EQ(decode(raw, plain("n", std::string(length, 'a'))).error,
              length > 10 ? decode_error::string_too_long : decode_error::none);
    // 'a' is 00011: eight of them are five bytes.
    decoder coded({.string_bytes_max = length});
    EXPECT_EQ(decode(coded, from_hex("0001 6e85 18c6 318c 63")).error,
              length < 8 ? decode_error::string_too_long : decode_error::none);
  }
  decoder name({.string_bytes_max = 3});
  EXPECT_EQ(decode(name, plain("four", "1")).error, decode_error::string_too_long);
}

TEST(HpackDecoder, HuffmanErrorsAreReported) {
  EXPECT_EQ(error_of(from_hex("0482 ffff")), decode_error::huffman_padding);
  EXPECT_EQ(error_of(from_hex("0484 ffff ffff")), decode_error::huffman_end_of_string);
  EXPECT_EQ(error_of(from_hex("4081 00 01 61")), decode_error::huffman_padding);
}

TEST(HpackDecoder, AnErrorLastsForTheConnection) {
  decoder d;
  const block wrong = indexed(0);
  d.start(wrong);
  EXPECT_EQ(d.next(), step::error);
  EXPECT_EQ(d.next(), step::error);
  const block fine = indexed(2);
  d.start(fine);
  EXPECT_EQ(d.next(), step::error);
  EXPECT_EQ(d.error(), decode_error::index_zero);
}

TEST(HpackDecoder, FieldsBeforeAnErrorAreGiven) {
  const outcome o = decoded_alone(indexed(2) + entering("a", "1") + indexed(0));
  EXPECT_EQ(o.fields.size(), 2u);
  EXPECT_EQ(o.error, decode_error::index_zero);
}

TEST(HpackDecoder, AFieldThatIsTooLargeForTheTableIsGivenAndEmptiesIt) {
  decoder d;
  const std::string large(5000, 'v');
  decode(d, entering("a", "1"));
  EXPECT_EQ(decode(d, entering(62, large)), fields({{"a", large}}));
  EXPECT_EQ(d.table().count(), 0u);
  EXPECT_EQ(decode(d, indexed(62)).error, decode_error::index_out_of_range);
}

// RFC 7541 4.4, observed through current(): the name's entry is evicted, the field stays.
TEST(HpackDecoder, AFieldOutlivesTheEntryThatLentItsName) {
  decoder d;
  d.set_table_limit(100);
  decode(d, size_update(100) + entering("a-rather-long-name", std::string(40, '1')));
  EXPECT_EQ(decode(d, entering(62, std::string(45, '2'))),
            fields({{"a-rather-long-name", std::string(45, '2')}}));
  EXPECT_EQ(d.table().count(), 1u);
  EXPECT_EQ(decode(d, indexed(62)), fields({{"a-rather-long-name", std::string(45, '2')}}));
}

// RFC 7541 4.2 and 6.3.

TEST(HpackDecoder, ASizeUpdateMayOnlyComeFirst) {
  EXPECT_EQ(error_of(indexed(2) + size_update(100)), decode_error::update_after_field);
  EXPECT_EQ(error_of(plain("a", "1") + size_update(100)), decode_error::update_after_field);
  EXPECT_EQ(decoded_alone(size_update(0) + size_update(100) + indexed(2)), fields({{":method", "GET"}}));
  EXPECT_EQ(decoded_alone(size_update(100)), fields({}));
}

// RFC 7541 4.2: the lowest size since the last block, and the final one.
TEST(HpackDecoder, ABlockBeginsWithAtMostTwoSizeUpdates) {
  const block two = size_update(0) + size_update(4096);
  EXPECT_EQ(decoded_alone(two + indexed(2)), fields({{":method", "GET"}}));
  EXPECT_EQ(error_of(two + size_update(4096) + indexed(2)), decode_error::update_too_many);
  EXPECT_EQ(error_of(two + size_update(4096)), decode_error::update_too_many) << "also without a field";
  EXPECT_EQ(error_of(size_update(9) + size_update(8) + size_update(7)), decode_error::update_too_many);
  decoder d;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(decode(d, two + indexed(2)).error, decode_error::none) << "block " << i;
  d.set_table_limit(100);
  EXPECT_EQ(decode(d, size_update(0) + size_update(50) + size_update(100)).error,
            decode_error::update_too_many)
      << "also where an update is due";
}

TEST(HpackDecoder, ASizeUpdateAboveTheLimitIsAnError) {
  EXPECT_EQ(error_of(size_update(4096)), decode_error::none);
  EXPECT_EQ(error_of(size_update(4097)), decode_error::update_above_limit);
  EXPECT_EQ(error_of(size_update(0xffffffff)), decode_error::update_above_limit);
  decoder d;
  d.set_table_limit(8192);
  EXPECT_EQ(decode(d, size_update(8192)).error, decode_error::none);
  EXPECT_EQ(d.table().max_bytes(), 8192u);
}

TEST(HpackDecoder, ALoweredLimitMustBeFollowedInTheNextBlock) {
  for (const bool empty_block : {true, false}) {
    decoder d;
    d.set_table_limit(100);
    EXPECT_EQ(decode(d, empty_block ? block{} : indexed(2)).error, decode_error::update_missing);
  }
  decoder above;
  above.set_table_limit(100);
  EXPECT_EQ(decode(above, size_update(101)).error, decode_error::update_above_limit);
  decoder well;
  well.set_table_limit(100);
  EXPECT_EQ(decode(well, size_update(99) + indexed(2)).error, decode_error::none);
  EXPECT_EQ(decode(well, indexed(2)).error, decode_error::none);
}

TEST(HpackDecoder, TheLowestOfSeveralLimitsMustBeFollowed) {
  decoder d;
  decode(d, entering("a", "1"));
  d.set_table_limit(0);
  d.set_table_limit(4096);
  EXPECT_EQ(decode(d, size_update(0) + size_update(4096) + indexed(2)).error, decode_error::none);
  EXPECT_EQ(d.table().count(), 0u);
  d.set_table_limit(0);
  d.set_table_limit(4096);
  EXPECT_EQ(decode(d, size_update(4096)).error, decode_error::update_above_limit);
}

TEST(HpackDecoder, ALimitAboveTheSizeInUseAsksForNothing) {
  decoder d;
  decode(d, size_update(1000));
  d.set_table_limit(2000);
  EXPECT_EQ(decode(d, indexed(2)).error, decode_error::none);
  EXPECT_EQ(decode(d, size_update(2001)).error, decode_error::update_above_limit);
}

TEST(HpackDecoder, EveryErrorHasItsOwnText) {
  for (int i = 0; i <= static_cast<int>(decode_error::update_too_many); ++i)
    for (int j = 0; j < i; ++j)
      EXPECT_NE(to_string(static_cast<decode_error>(i)), to_string(static_cast<decode_error>(j)));
  EXPECT_NE(to_string(decode_error::update_too_many), "unknown");
}

TEST(HpackDecoder, ALimitThatNoTableMayHaveIsADefect) {
  decoder d;
  EXPECT_DEATH(d.set_table_limit(table_bytes_max + 1), "table_bytes_max");
}

TEST(HpackDecoder, MemoryStaysWhereItWasOnceASizeWasSeen) {
  decoder d;
  const block b = indexed(2) + plain("name", "value") + entering(4, "/a/b") + from_hex("0481 1f");
  for (int i = 0; i < 200; ++i) decode(d, b);
  const std::size_t before = d.capacity_bytes();
  for (int i = 0; i < 10000; ++i) decode(d, b);
  EXPECT_EQ(d.capacity_bytes(), before);
}

TEST(HpackDecoder, ScratchMemoryIsGivenBackOnRequest) {
  decoder d;
  block large = from_hex("04 ff 81 fe 03");  // 65,536 bytes of Huffman code
  large.insert(large.end(), 65536, 0x00);    // of zeros: '0' thirteen times in eight bytes and a bit
  decode(d, large);
  EXPECT_GT(d.capacity_bytes(), 100000u);
  d.release(4096);
  EXPECT_EQ(d.capacity_bytes(), 0u);
}

// Bytes that are likely to be valid, so that most blocks continue after their first field.
block random_block(testing::random_numbers& random) {
  block b;
  const auto text = [&] { return std::string(random() % 12, static_cast<char>('a' + random() % 4)); };
  for (unsigned left = random() % 12; left > 0; --left) {
    switch (random() % 8) {
      case 0: b = b + indexed(1 + random() % 64); break;
      case 1: b = b + entering(text(), text()); break;
      case 2: b = b + entering(1 + random() % 70, text()); break;
      case 3: b = b + plain(random() % 70, text()); break;
      case 4: b = b + never(text(), text()); break;
      case 5: b = b + size_update(random() % 300); break;
      case 6: b = b + from_hex("0085 18c6 318c 63 81 1f"); break;
      case 7: b.push_back(static_cast<std::uint8_t>(random())); break;
    }
  }
  if (random() % 4 == 0 && !b.empty()) b[random() % b.size()] = static_cast<std::uint8_t>(random());
  return b;
}

TEST(HpackDecoder, RandomBlocksDecodeAsTheReferenceSays) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    testing::random_numbers random(seed);
    decoder d({.string_bytes_max = 100});
    testing::reference_decoder reference(100);
    for (int blocks = 0; blocks < 30; ++blocks) {
      if (random() % 8 == 0) {
        const std::uint32_t limit = random() % 4 == 0 ? 0 : random() % 400;
        d.set_table_limit(limit);
        reference.set_table_limit(limit);
      }
      const block b = random_block(random);
      const outcome expected = reference.decode(b);
      ASSERT_EQ(decode(d, b), expected) << "seed " << seed;
      ASSERT_EQ(d.table().size_bytes(), reference.size_bytes());
      if (expected.error != decode_error::none) break;
    }
  }
}

}  // namespace
}  // namespace coracle::hpack::decoder_test
