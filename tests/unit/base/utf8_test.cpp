#include "base/utf8.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace coracle::base::utf8_test {
namespace {

// The form of RFC 3629 3, also for what it forbids.
std::string encoded(std::uint32_t code, int bytes) {
  if (bytes == 1) return std::string(1, static_cast<char>(code));
  std::string text(1, static_cast<char>((0xf00 >> bytes & 0xff) | code >> (6 * (bytes - 1))));
  for (int i = bytes - 2; i >= 0; --i) text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
  return text;
}

TEST(Utf8, HasEveryCharacterInItsShortestFormOnly) {
  for (std::uint32_t code = 0; code < 0x120000; ++code) {
    const int shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool valid = code < 0xd800 || (code > 0xdfff && code <= 0x10ffff);
    ASSERT_EQ(is_utf8(encoded(code, shortest)), valid) << code;
    ASSERT_FALSE(shortest < 4 && is_utf8(encoded(code, shortest + 1))) << code;
  }
}

TEST(Utf8, EndsAtTheFirstByteOfAnInvalidCharacter) {
  for (const auto& [text, bytes] : {std::pair<std::string_view, std::size_t>{"", 0},
                                    {"plain", 5},
                                    {"\xc3\xa9", 2},
                                    {"\xc3", 0},
                                    {"\xe2\x82", 0},
                                    {"a\xe2\x82\xac", 4},
                                    {"abc\x80", 3},
                                    {"\xf0\x9f\x98\x80x", 5},
                                    {"\xf0\x9f\x98", 0},
                                    {"\xf5\x80\x80\x80", 0},
                                    {"\xff", 0},
                                    {"12345678\xff", 8},
                                    {"1234567\xc3\xa9", 9},
                                    {"12345678901\xc3(", 11}})
    EXPECT_EQ(valid_utf8_bytes(text), bytes) << text;
}

TEST(Utf8, IsCheckedAtEveryAlignment) {
  const std::string fine = "0123456789abcdef\xf0\x9f\x98\x80ghij\xc3\xa9klmnop";
  ASSERT_TRUE(is_utf8(fine));
  for (std::size_t i = 0; i < fine.size(); ++i) {
    std::string broken = fine;
    broken[i] = '\xff';
    EXPECT_FALSE(is_utf8(broken)) << i;
    EXPECT_LE(valid_utf8_bytes(broken), i);
  }
}

}  // namespace
}  // namespace coracle::base::utf8_test
