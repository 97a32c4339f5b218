#include "base/printable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::base::printable_test {
namespace {

TEST(Printable, LeavesPlainTextAsItIs) {
  EXPECT_EQ(printable("too_many_pings ~ 1!"), "too_many_pings ~ 1!");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ShowsNothingThatATerminalOrALogWouldObey) {
  EXPECT_EQ(printable("a\r\nb\t\x1b[2J\x7f\xc3\xa9"), "a??b??[2J???");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Printable, IsBounded) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  std::string most(printable_bytes_max, 'x');
  most.append("...");
  EXPECT_EQ(printable(std::string(1000, 'x')), most);
}

}  // namespace
}  // namespace coracle::base::printable_test
