#include "rpc/accepted_encodings.hpp"

#include <gtest/gtest.h>

namespace coracle::calls {
namespace {

TEST(AcceptedEncodings, AreReadFromTheListOnTheWire) {
  const auto some = accepted_encodings::named("identity, gzip ,zstd,snail");
  EXPECT_TRUE(some.has(encoding::identity));
  EXPECT_TRUE(some.has(encoding::gzip));
  EXPECT_TRUE(some.has(encoding::zstd));
  EXPECT_FALSE(some.has(encoding::deflate));
  EXPECT_EQ(accepted_encodings(some.bits()).bits(), some.bits());
}

TEST(AcceptedEncodings, AlwaysHaveIdentity) {
  for (const char* list : {"", ",", " , ", "snail", "gzip"})
    EXPECT_TRUE(accepted_encodings::named(list).has(encoding::identity)) << list;
  EXPECT_FALSE(accepted_encodings().has(encoding::gzip));
  EXPECT_FALSE(accepted_encodings::named("gzipped").has(encoding::gzip));
}

TEST(AcceptedEncodings, OfOursAreThoseThatAreAvailable) {
  const auto ours = accepted_encodings::named(accepted_here());
  for (std::size_t i = 0; i < encoding_count; ++i) {
    const auto e = static_cast<encoding>(i);
    EXPECT_EQ(ours.has(e), available(e)) << name_of(e);
    EXPECT_EQ(available_encoding(name_of(e)).has_value(), available(e)) << name_of(e);
  }
  EXPECT_EQ(available_encoding("snail"), std::nullopt);
}

}  // namespace
}  // namespace coracle::calls
