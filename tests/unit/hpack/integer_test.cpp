#include "hpack/integer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace integer_test {
namespace {

using coracle::hpack::integer_bytes_max;
using coracle::hpack::integer_error;
using coracle::hpack::read_integer;
using coracle::hpack::write_integer;
using bytes = std::vector<std::uint8_t>;

bytes written(unsigned prefix_bits, unsigned pattern, std::uint32_t value) {
  std::uint8_t buffer[integer_bytes_max];
  return {buffer, write_integer(buffer, prefix_bits, pattern, value)};
}

integer_error read(const bytes& from, unsigned prefix_bits, std::uint32_t& value) {
  const std::uint8_t* at = from.data();
  return read_integer(at, from.data() + from.size(), prefix_bits, value);
}

TEST(HpackInteger, ExamplesOfRfc7541C1AreWritten) {
  EXPECT_EQ(written(5, 0, 10), (bytes{0x0a}));
  EXPECT_EQ(written(5, 0, 1337), (bytes{0x1f, 0x9a, 0x0a}));
  EXPECT_EQ(written(8, 0, 42), (bytes{0x2a}));
}

TEST(HpackInteger, EveryPrefixGivesBackWhatWasWritten) {
  std::vector<std::uint32_t> values = {0, 1, std::numeric_limits<std::uint32_t>::max()};
  for (unsigned shift = 1; shift < 32; ++shift)
    for (const std::uint32_t near : {0u, 1u, 2u}) values.push_back((1u << shift) - 1 + near);
  for (unsigned prefix = 1; prefix <= 8; ++prefix) {
    for (const std::uint32_t value : values) {
      const bytes b = written(prefix, 0, value);
      const std::uint8_t* at = b.data();
      std::uint32_t back = 0;
      ASSERT_EQ(read_integer(at, b.data() + b.size(), prefix, back), integer_error::none);
      EXPECT_EQ(back, value);
      EXPECT_EQ(at, b.data() + b.size());
      for (std::size_t cut = 1; cut < b.size(); ++cut)
        EXPECT_EQ(read({b.begin(), b.begin() + static_cast<std::ptrdiff_t>(cut)}, prefix, back),
                  integer_error::truncated);
    }
  }
}

TEST(HpackInteger, BitsAboveThePrefixAreThePattern) {
  EXPECT_EQ(written(6, 0x40, 5), (bytes{0x45}));
  std::uint32_t value = 0;
  EXPECT_EQ(read({0xc5}, 6, value), integer_error::none);
  EXPECT_EQ(value, 5u);
}

TEST(HpackInteger, MoreThan32BitsAreRefused) {
  std::uint32_t value = 0;
  EXPECT_EQ(read({0xff, 0x80, 0xfe, 0xff, 0xff, 0x0f}, 8, value), integer_error::none);
  EXPECT_EQ(value, std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(read({0xff, 0x81, 0xfe, 0xff, 0xff, 0x0f}, 8, value), integer_error::too_large);
  EXPECT_EQ(read({0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 8, value), integer_error::too_large);
}

TEST(HpackInteger, PaddingWithZerosIsReadUpToFiveBytes) {
  std::uint32_t value = 0;
  EXPECT_EQ(read({0x1f, 0x81, 0x80, 0x80, 0x80, 0x00}, 5, value), integer_error::none);
  EXPECT_EQ(value, 32u);
  EXPECT_EQ(read({0x1f, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00}, 5, value), integer_error::too_large);
}

}  // namespace
}  // namespace integer_test
