#include "protocol/grpc/timeout.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::grpc::timeout_test {
namespace {

using namespace std::chrono_literals;

TEST(GrpcTimeout, IsWrittenInTheFinestUnitThatFits) {
  struct row {
    duration left;
    std::string_view text;
  };
  for (const auto& [left, text] :
       {row{0ns, "0n"}, row{-5s, "0n"}, row{1ns, "1n"}, row{99'999'999ns, "99999999n"},
        row{100'000'000ns, "100000u"}, row{1s, "1000000u"}, row{99'999'999us, "99999999u"},
        row{100s, "100000m"}, row{100'000s, "100000S"}, row{24h * 365 * 3, "94608000S"},
        row{24h * 365 * 4, "2102400M"}, row{duration::max(), "2562047H"}}) {
    EXPECT_EQ(format_timeout(left).view(), text) << left.count();
  }
}

TEST(GrpcTimeout, NeverGrowsByBeingWritten) {
  for (std::int64_t ns = 1; ns > 0 && ns < duration::max().count() / 7; ns = ns * 7 + 3) {
    const auto back = parse_timeout(format_timeout(duration(ns)).view());
    ASSERT_TRUE(back);
    EXPECT_LE(back->count(), ns);
    EXPECT_GT(back->count(), ns - ns / 100'000 - 1);
  }
}

TEST(GrpcTimeout, IsReadInEveryUnit) {
  EXPECT_EQ(parse_timeout("1H"), 1h);
  EXPECT_EQ(parse_timeout("2M"), 2min);
  EXPECT_EQ(parse_timeout("3S"), 3s);
  EXPECT_EQ(parse_timeout("4m"), 4ms);
  EXPECT_EQ(parse_timeout("5u"), 5us);
  EXPECT_EQ(parse_timeout("00000006n"), 6ns);
  EXPECT_EQ(parse_timeout("99999999H"), duration::max());
}

TEST(GrpcTimeout, ThatBreaksTheGrammarIsNone) {
  for (const std::string_view text :
       {"", "1", "S", "1s", "1 S", "-1S", "+1S", "123456789n", "1.5S", "0x1S", "1SS"})
    EXPECT_FALSE(parse_timeout(text)) << text;
}

}  // namespace
}  // namespace coracle::protocol::grpc::timeout_test
