#include "coracle/base/log.hpp"

#include "coracle/base/status.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
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

struct place {
  int x;
  int y;
};
std::string to_string(const place& p) { return std::to_string(p.x) + "/" + std::to_string(p.y); }
struct thrower {
  [[nodiscard]] std::string to_string() const { throw std::runtime_error("no text"); }
};

TEST(Log, ALineIsMadeOfPartsOfManyTypes) {
  lines_logger log;
  log.set_min_level(log_level::debug);
  const std::string text = "text";
  const char* const none = nullptr;
  log.debug("accepted ", text, ' ', std::string_view("and more"), " ", none);
  log.info(1, " ", -2L, " ", 3u, " ", static_cast<unsigned char>(4), " ", ~0ull, " ", true, false);
  log.warning(0.5, " ", 2.0f, " ", 1e300);
  log.error(place{1, 2}, " ", status::not_found("it is gone"), " ", log_level::error);
  log.info([] { return place{3, 4}; }, " ", [&] { return text; });
  log.info();
  EXPECT_EQ(log.lines, (std::vector<std::string>{
                           "debug: accepted text and more (null)",
                           "info: 1 -2 3 4 18446744073709551615 truefalse",
                           "warning: 0.5 2 1e+300",
                           "error: 1/2 NOT_FOUND: it is gone error",
                           "info: 3/4 text",
                           "info: ",
                       }));
}

TEST(Log, DurationsHaveTheirUnits) {
  using namespace std::chrono_literals;
  lines_logger log;
  log.info(0ns, " ", 999ns, " ", 1us, " ", 1500us, " ", 20ms, " ", -1s, " ", 90min);
  EXPECT_EQ(log.lines, std::vector<std::string>{"info: 0ns 999ns 1us 1.5ms 20ms -1s 5400s"});
}

TEST(Log, NothingIsFormattedBelowTheMinimumLevel) {
  lines_logger log;
  int formatted = 0;
  log.debug([&] { return ++formatted; }, thrower());
  EXPECT_EQ(formatted, 0);
  log.info([&] { return ++formatted; });
  EXPECT_EQ(formatted, 1);
  EXPECT_EQ(log.lines, std::vector<std::string>{"info: 1"});
}

TEST(Log, APartThatThrowsLeavesALineThatSaysSo) {
  lines_logger log;
  log.info("before ", thrower());
  log.error([]() -> int { throw 1; });
  EXPECT_EQ(log.lines, (std::vector<std::string>{
                           "info: a log line was left out, because formatting it threw an exception: no text",
                           "error: a log line was left out, because formatting it threw an exception",
                       }));
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
