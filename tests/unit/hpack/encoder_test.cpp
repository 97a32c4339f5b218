#include "hpack/encoder.hpp"

#include "unit/hpack/reference_decoder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::hpack::encoder_test {
namespace {

using testing::block;
using testing::from_hex;
using testing::operator+;
using testing::outcome;
using testing::owned_field;
using testing::size_update;

// Encodes into memory of exactly the promised size, so that a sanitizer detects every write beyond it.
block encoded(encoder& e, std::string_view name, std::string_view value, indexing policy) {
  std::vector<std::uint8_t> room(encoder::bound(name.size(), value.size()));
  room.resize(static_cast<std::size_t>(e.encode(room.data(), name, value, policy) - room.data()));
  return room;
}
block begun(encoder& e) {
  std::vector<std::uint8_t> room(encoder::begin_bound);
  room.resize(static_cast<std::size_t>(e.begin_block(room.data()) - room.data()));
  return room;
}

TEST(HpackEncoder, StaticFieldsAreOneByte) {
  encoder e;
  EXPECT_EQ(encoded(e, ":method", "POST", indexing::index), from_hex("83"));
  EXPECT_EQ(encoded(e, ":status", "200", indexing::no_index), from_hex("88"));
  EXPECT_EQ(e.table().count(), 0u);
}

TEST(HpackEncoder, AFieldIsEnteredOnceAndThenIndexed) {
  encoder e;
  EXPECT_EQ(encoded(e, "te", "trailers", indexing::index)[0], 0x40);
  EXPECT_EQ(encoded(e, "te", "trailers", indexing::index), from_hex("be"));
  EXPECT_EQ(encoded(e, "te", "trailers", indexing::no_index), from_hex("be"));
  EXPECT_EQ(e.table().count(), 1u);
}

TEST(HpackEncoder, AFieldThatMayNotBeIndexedStaysOut) {
  encoder e;
  EXPECT_EQ(encoded(e, "a", "1", indexing::no_index), from_hex("0001 6101 31"));
  EXPECT_EQ(e.table().count(), 0u);
}

TEST(HpackEncoder, ASecretIsALiteralEvenIfATableKnowsIt) {
  encoder e;
  (void)encoded(e, "authorization", "secret", indexing::index);
  EXPECT_EQ(encoded(e, "authorization", "secret", indexing::never_index)[0], 0x1f);
  EXPECT_EQ(encoded(e, ":method", "GET", indexing::never_index)[0], 0x12);
}

TEST(HpackEncoder, NamesComeFromTheTables) {
  encoder e;
  EXPECT_EQ(encoded(e, ":path", "*", indexing::index), from_hex("4401 2a"));
  (void)encoded(e, "grpc-timeout", "1S", indexing::index);
  EXPECT_EQ(encoded(e, "grpc-timeout", "2S", indexing::index)[0], 0x7e);
  EXPECT_EQ(encoded(e, "grpc-timeout", "3S", indexing::no_index)[0], 0x0f);
}

TEST(HpackEncoder, HuffmanIsUsedOnlyWhereItIsShorter) {
  encoder e;
  EXPECT_EQ(encoded(e, ":path", "~", indexing::never_index), from_hex("1401 7e"));
  EXPECT_EQ(encoded(e, ":path", "000", indexing::never_index), from_hex("1482 0001"));
  EXPECT_EQ(encoded(e, ":path", "000", indexing::index), from_hex("4482 0001"));
}

TEST(HpackEncoder, HuffmanIsNotUsedForShortValuesThatAreSentOnce) {
  encoder e;
  EXPECT_EQ(encoded(e, ":path", "000", indexing::no_index), from_hex("0403 303030"));
  EXPECT_EQ(encoded(e, ":path", std::string(16, '0'), indexing::no_index).size(), 18u);
  EXPECT_EQ(encoded(e, ":path", std::string(17, '0'), indexing::no_index).size(), 13u);
}

TEST(HpackEncoder, AFieldOfMoreThanHalfTheTableIsNotEntered) {
  encoder e(128);
  (void)begun(e);
  EXPECT_EQ(encoded(e, "a", std::string(32, '~'), indexing::index)[0], 0x00);
  EXPECT_EQ(encoded(e, "a", std::string(31, '~'), indexing::index)[0], 0x40);
}

TEST(HpackEncoder, ASmallOwnLimitIsToldInTheFirstBlock) {
  encoder e(100);
  EXPECT_EQ(begun(e), size_update(100));
  EXPECT_EQ(begun(e), block{});
  encoder none(0);
  EXPECT_EQ(begun(none), size_update(0));
  EXPECT_EQ(encoded(none, "a", "1", indexing::index)[0], 0x00);
  encoder usual;
  EXPECT_EQ(begun(usual), block{});
}

TEST(HpackEncoder, APeersLimitIsFollowedWithinTheOwnOne) {
  encoder e(8192);
  EXPECT_EQ(begun(e), block{});
  e.set_peer_limit(100000);
  EXPECT_EQ(begun(e), size_update(8192));
  e.set_peer_limit(8192);
  EXPECT_EQ(begun(e), block{});
  e.set_peer_limit(10);
  EXPECT_EQ(begun(e), size_update(10));
  EXPECT_EQ(e.table().max_bytes(), 10u);
}

// RFC 7541 4.2.
TEST(HpackEncoder, OfSeveralLimitsTheLowestAndTheLastAreTold) {
  encoder e;
  (void)encoded(e, "a", "1", indexing::index);
  e.set_peer_limit(0);
  e.set_peer_limit(50);
  e.set_peer_limit(4096);
  EXPECT_EQ(begun(e), size_update(0) + size_update(4096));
  EXPECT_EQ(e.table().count(), 0u);
  e.set_peer_limit(2000);
  e.set_peer_limit(1000);
  EXPECT_EQ(begun(e), size_update(1000));
}

TEST(HpackEncoder, AFieldWhoseNameAloneRecursIsEnteredForItsNameOnce) {
  encoder e;
  EXPECT_EQ(encoded(e, "a", "1", indexing::name_only), from_hex("4001 6101 31"));
  EXPECT_EQ(encoded(e, "a", "2", indexing::name_only), from_hex("0f2f 0132"));
  EXPECT_EQ(encoded(e, "a", "1", indexing::name_only), from_hex("be")) << "the first value may come again";
  EXPECT_EQ(encoded(e, ":path", "*", indexing::name_only), from_hex("0401 2a"))
      << "its name is in the static table";
  EXPECT_EQ(e.table().count(), 1u);
  e.set_peer_limit(0);
  (void)begun(e);
  EXPECT_EQ(encoded(e, "a", "1", indexing::name_only), from_hex("0001 6101 31"));
}

TEST(HpackEncoder, ManyEntriesAreAllFoundAgain) {
  encoder e(65536);
  e.set_peer_limit(65536);
  (void)begun(e);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 1500; ++i) {
      const block b = encoded(e, "n" + std::to_string(i % 7), std::to_string(i), indexing::index);
      EXPECT_EQ((b[0] & 0x80) != 0, round > 0);
    }
}

TEST(HpackEncoder, MemoryStaysWhereItWasOnceTheTableWasFull) {
  encoder e;
  testing::random_numbers random(3);
  const auto use = [&](int times) {
    for (int i = 0; i < times; ++i) (void)encoded(e, "n", std::to_string(random() % 10000), indexing::index);
  };
  use(2000);
  const std::size_t before = e.capacity_bytes();
  use(20000);
  EXPECT_EQ(e.capacity_bytes(), before);
}

TEST(HpackEncoder, ABlockThatSkipsItsBeginningIsADefect) {
  encoder e(100);
  std::uint8_t buffer[64];
  EXPECT_DEATH((void)e.encode(buffer, "a", "1", indexing::index), "begin_block");
}

TEST(HpackStatelessEncoder, UsesTheStaticTableAndLiteralsOnly) {
  EXPECT_EQ(stateless_encoder::encode_block({{":status", "200"}, {"content-type", "~"}, {"te", "~", true}}),
            from_hex("88 0f10 017e 1002 7465 017e"));
  EXPECT_EQ(stateless_encoder::encode_block({{":status", "200", true}})[0], 0x18);
  EXPECT_EQ(stateless_encoder::encode_block(std::initializer_list<field>{}), block{});
}

TEST(HpackStatelessEncoder, ItsBlocksDecodeAtAnyTime) {
  const block trailers = stateless_encoder::encode_block({{"grpc-status", "0"}, {"grpc-message", ""}});
  decoder d;
  testing::decode(d, testing::entering("grpc-status", "1"));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(testing::decode(d, trailers),
              (outcome{{{"grpc-status", "0"}, {"grpc-message", ""}}, decode_error::none}));
  EXPECT_EQ(d.table().count(), 1u);
}

// Random lists from one encoder to a decoder and to the reference, with changing limits. Values are often
// repeated; fields are long enough to evict each other.
TEST(HpackRoundTrip, RandomListsSurviveChangingTableSizes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    testing::random_numbers random(seed);
    encoder e(seed % 3 == 0 ? 4096 : random() % 3000);
    decoder d;
    testing::reference_decoder reference;
    for (int blocks = 0; blocks < 60; ++blocks) {
      for (unsigned changes = random() % 8 == 0 ? random() % 4 : 0; changes > 0; --changes) {
        const std::uint32_t limit = random() % 3 == 0 ? random() % 100 : random() % 6000;
        d.set_table_limit(limit);
        reference.set_table_limit(limit);
        e.set_peer_limit(limit);
      }
      block b = begun(e);
      outcome sent;
      for (unsigned left = random() % 12; left > 0; --left) {
        owned_field f{"name-" + std::to_string(random() % 6), std::to_string(random() % 20)};
        if (random() % 5 == 0) f = {":path", "/service/" + std::to_string(random() % 4)};
        if (random() % 8 == 0) f.value.append(random() % 600, static_cast<char>(random()));
        if (random() % 20 == 0) f.name.clear();
        const auto policy = static_cast<indexing>(random() % 4);
        f.never_index = policy == indexing::never_index;
        b = b + encoded(e, f.name, f.value, policy);
        sent.fields.push_back(f);
      }
      ASSERT_EQ(testing::decode(d, b), sent) << "seed " << seed;
      ASSERT_EQ(reference.decode(b), sent) << "seed " << seed;
      ASSERT_EQ(d.table().size_bytes(), e.table().size_bytes());
    }
  }
}

}  // namespace
}  // namespace coracle::hpack::encoder_test
