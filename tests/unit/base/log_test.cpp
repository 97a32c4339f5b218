#include "coracle/base/log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace coracle::log_test {
namespace {

class lines_logger final : public logger {
 public:
  std::vector<std::string> lines;

 private:
  void record(log_level level, std::string_view message) noexcept override {
    lines.push_back(std::string(to_string(level)) + ": " + std::string(message));
  }
};

void write_all(logger& log) {
  for (auto level : {log_level::debug, log_level::info, log_level::warning, log_level::error})
    log.write(level, "something");
}

TEST(Log, ASinkGetsLinesOfItsLeastLevelAndAbove) {
  lines_logger log;
  write_all(log);
  EXPECT_EQ(log.lines,
            (std::vector<std::string>{"info: something", "warning: something", "error: something"}));
  log.lines.clear();
  log.set_min_level(log_level::error);
  write_all(log);
  EXPECT_EQ(log.lines, std::vector<std::string>{"error: something"});
  log.lines.clear();
  log.set_min_level(log_level::debug);
  write_all(log);
  EXPECT_EQ(log.lines.size(), 4u);
}

TEST(Log, WantsSaysWhetherALineWouldBeTaken) {
  lines_logger log;
  log.set_min_level(log_level::warning);
  EXPECT_FALSE(log.is_enabled(log_level::info));
  EXPECT_TRUE(log.is_enabled(log_level::warning));
  EXPECT_EQ(log.min_level(), log_level::warning);
}

[[noreturn]] void write_all_to_stderr(const char* min_level) {
  ::setenv("CORACLE_LOG", min_level, 1);
  write_all(stderr_logger());
  std::exit(0);
}

// In processes of their own: the variable is read once.
TEST(LogDeath, TheEnvironmentSetsTheLeastLevelOfStderr) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(write_all_to_stderr("debug"), testing::ExitedWithCode(0), "coracle: debug: something\n");
  EXPECT_EXIT(write_all_to_stderr("error"), testing::ExitedWithCode(0), "^coracle: error: something\n$");
  EXPECT_EXIT(write_all_to_stderr("no level"), testing::ExitedWithCode(0), "^coracle: warning: something\n");
}

}  // namespace
}  // namespace coracle::log_test
