// xxh64: values that other implementations of XXH64 publish.
#include "base/xxh64.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::base {
namespace {

TEST(Xxh64, HasThePublishedValues) {
  EXPECT_EQ(xxh64(""), 0xef46db3751d8e999u);
  EXPECT_EQ(xxh64("a"), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(xxh64("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(xxh64("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1u);
  EXPECT_EQ(xxh64("xxhash", 20141025), 0xb559b98d844e0635u);
}

TEST(Xxh64, DependsOnEachOctetAtEachLength) {
  for (std::size_t n = 1; n <= 100; ++n) {
    std::string text(n, 'x');
    const std::uint64_t whole = xxh64(text);
    EXPECT_NE(whole, xxh64(text, 1));
    for (std::size_t i = 0; i < n; ++i) {
      text[i] = 'y';
      EXPECT_NE(xxh64(text), whole) << n << " " << i;
      text[i] = 'x';
    }
  }
}

}  // namespace
}  // namespace coracle::base
