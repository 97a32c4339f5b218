#include "protocol/connect/timeout.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::connect::timeout_test {
namespace {

using namespace std::chrono_literals;

TEST(ConnectTimeout, IsWrittenInMillisecondsRoundedUp) {
  struct row {
    duration left;
    std::string_view text;
  };
  for (const auto& [left, text] : {row{1ms, "1"}, row{1'999'999ns, "2"}, row{2'000'001ns, "3"},
                                   row{5s, "5000"}, row{9'999'999'999ms, "9999999999"}})
    EXPECT_EQ(format_timeout(left).view(), text);
}

TEST(ConnectTimeout, ThatExpiredIsWrittenAsTheShortest) {
  for (const duration left : {duration(0), duration(1), duration(-5s), duration::min()})
    EXPECT_EQ(format_timeout(left).view(), "1");
}

TEST(ConnectTimeout, ThatNeedsMoreThanTenDigitsIsNotWritten) {
  EXPECT_EQ(format_timeout(9'999'999'999ms + 1ns).view(), "");
  EXPECT_EQ(format_timeout(10'000'000'000ms).view(), "");
  EXPECT_EQ(format_timeout(duration::max()).view(), "");
}

TEST(ConnectTimeout, IsReadWithUpToTenDigits) {
  EXPECT_EQ(parse_timeout("1"), 1ms);
  EXPECT_EQ(parse_timeout("0"), 0ms);
  EXPECT_EQ(parse_timeout("0000005000"), 5s);
  EXPECT_EQ(parse_timeout("9999999999"), 9'999'999'999ms);
}

TEST(ConnectTimeout, ThatBreaksTheGrammarIsNone) {
  for (const std::string_view text :
       {"", "00000000001", "-1", "+1", "1ms", " 1", "1 ", "1.5", "0x1", "1e3", "\xd9\xa1"})
    EXPECT_FALSE(parse_timeout(text)) << text;
}

}  // namespace
}  // namespace coracle::protocol::connect::timeout_test
