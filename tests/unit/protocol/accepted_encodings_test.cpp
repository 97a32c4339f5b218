#include "protocol/grpc/accepted_encodings.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::grpc::accepted_encodings_test {
namespace {

TEST(AcceptedEncodings, AreReadFromTheListOnTheWire) {
  const auto some = parse_accepted_encodings("identity, gzip ,zstd,snail");
  EXPECT_TRUE(some.has(encoding::identity));
  EXPECT_TRUE(some.has(encoding::gzip));
  EXPECT_TRUE(some.has(encoding::zstd));
  EXPECT_FALSE(some.has(encoding::deflate));
  EXPECT_EQ(encoding_set::from_bits(some.bits()), some);
}

TEST(AcceptedEncodings, AlwaysHaveIdentity) {
  for (const char* list : {"", ",", " , ", "snail", "gzip"})
    EXPECT_TRUE(parse_accepted_encodings(list).has(encoding::identity)) << list;
  EXPECT_FALSE(encoding_set().has(encoding::gzip));
  EXPECT_FALSE(parse_accepted_encodings("gzipped").has(encoding::gzip));
}

TEST(AcceptedEncodings, OfOursAreThoseThatAreAvailable) {
  const auto ours = parse_accepted_encodings(accepted_encodings_text(encoding_set::all()));
  for (std::size_t i = 0; i < encoding_count; ++i) {
    const auto e = static_cast<encoding>(i);
    EXPECT_EQ(ours.has(e), available(e)) << name_of(e);
    EXPECT_EQ(accepted_encoding(name_of(e), encoding_set::all()).has_value(), available(e)) << name_of(e);
  }
  EXPECT_EQ(accepted_encoding("snail", encoding_set::all()), std::nullopt);
}

TEST(AcceptedEncodings, MayBeAnyOfThoseThatAreKnown) {
  constexpr encoding_set some{encoding::gzip, encoding::zstd};
  EXPECT_EQ(accepted_encodings_text(some), "identity,gzip,zstd");
  EXPECT_EQ(accepted_encodings_text(encoding_set()), "identity");
  EXPECT_EQ(accepted_encoding("zstd", some), encoding::zstd);
  EXPECT_EQ(accepted_encoding("identity", encoding_set()), encoding::identity);
  EXPECT_EQ(accepted_encoding("deflate", some), std::nullopt);
  EXPECT_EQ(some.common(encoding_set{encoding::zstd, encoding::deflate}), encoding_set{encoding::zstd});
}

}  // namespace
}  // namespace coracle::protocol::grpc::accepted_encodings_test
