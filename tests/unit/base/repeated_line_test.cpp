#include "base/repeated_line.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace coracle::repeated_line_test {
namespace {

using namespace std::chrono_literals;

class lines_logger final : public logger {
 public:
  std::vector<std::string> lines;

 private:
  void record(log_level, std::string_view message) noexcept override { lines.emplace_back(message); }
};

TEST(RepeatedLine, TheFirstIsWrittenAtOnceAndLaterOnesEachIntervalWithWhatWasLeftOut) {
  lines_logger log;
  repeated_line line(10s);
  const time_point start{};
  for (int i = 0; i < 100; ++i) line.write(log, log_level::warning, start + i * 1s, "refused");
  ASSERT_EQ(log.lines.size(), 10u);
  EXPECT_EQ(log.lines[0], "refused");
  for (std::size_t i = 1; i < log.lines.size(); ++i) EXPECT_EQ(log.lines[i], "refused (and 9 times before)");
}

TEST(RepeatedLine, OneThatComesSeldomIsWrittenAsItIs) {
  lines_logger log;
  repeated_line line(10s);
  for (int i = 0; i < 3; ++i) line.write(log, log_level::warning, time_point{} + i * 10s, "seldom");
  EXPECT_EQ(log.lines, std::vector<std::string>(3, "seldom"));
}

TEST(RepeatedLine, EachPlaceHasItsOwn) {
  lines_logger log;
  repeated_line one(10s);
  repeated_line other(10s);
  one.write(log, log_level::warning, time_point{}, "one");
  other.write(log, log_level::warning, time_point{}, "other");
  EXPECT_EQ(log.lines, (std::vector<std::string>{"one", "other"}));
}

}  // namespace
}  // namespace coracle::repeated_line_test
