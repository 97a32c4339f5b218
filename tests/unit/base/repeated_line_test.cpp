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

TEST(RepeatedLines, EachSubjectHasItsOwn) {
  lines_logger log;
  repeated_lines lines;
  for (int i = 0; i < 3; ++i)
    for (const char* subject : {"one", "other"})
      lines.write(log, log_level::warning, time_point{} + i * 9s, subject, subject);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"one", "other", "one (and 1 times before)",
                                                 "other (and 1 times before)"}));
}

TEST(RepeatedLines, SubjectsThatPeersInventTakeBoundedMemoryAndFewLines) {
  lines_logger log;
  repeated_lines lines;
  const auto write = [&](time_point now, const std::string& subject) {
    lines.write(log, log_level::warning, now, subject, subject);
  };
  const time_point start{};
  write(start, "/p.S/Known");
  for (int i = 0; i < 10'000; ++i) write(start, "/p.S/" + std::to_string(i));
  EXPECT_EQ(lines.subjects(), repeated_lines::subjects_max);
  EXPECT_EQ(log.lines.size(), repeated_lines::subjects_max + 1);  // and one that the others share
  log.lines.clear();
  write(start + 1s, "/p.S/Known");
  EXPECT_EQ(log.lines, std::vector<std::string>());
  // The interval has passed: there is room for new subjects, each with a line of its own.
  write(start + 10s, "/p.S/New");
  write(start + 10s, "/p.S/Newer");
  EXPECT_EQ(lines.subjects(), 2u);
  EXPECT_EQ(log.lines, (std::vector<std::string>{"/p.S/New", "/p.S/Newer"}));
}

}  // namespace
}  // namespace coracle::repeated_line_test
