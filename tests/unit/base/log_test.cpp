#include "coracle/base/log.hpp"

#include "coracle/base/status.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
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

TEST(Log, EachRoomHasItsMinimumLevel) {
  lines_logger log;
  EXPECT_EQ(log.min_levels(), "info");
  ASSERT_TRUE(log.set_min_levels("warning, tls=debug,client = error").ok());
  EXPECT_EQ(log.min_levels(), "warning,tls=debug,client=error");
  for (const log_room room : log_rooms) {
    EXPECT_EQ(log_room_of(to_string(room)), room);
    EXPECT_EQ(log.is_enabled(room, log_level::info), room == log_room::tls);
    EXPECT_EQ(log.is_enabled(room, log_level::warning), room != log_room::client);
    log.write(room, log_level::info, to_string(room));
    log.in(room).debug("of ", to_string(room));
  }
  EXPECT_EQ(log.lines, (std::vector<std::string>{"info: tls", "debug: of tls"}));
  ASSERT_TRUE(log.set_min_levels("net=info").ok());  // the others stay
  EXPECT_EQ(log.min_levels(), "warning,net=info,tls=debug,client=error");
  log.set_min_level(log_level::error);
  EXPECT_EQ(log.min_levels(), "error");
  ASSERT_TRUE(log.set_min_levels("access=none").ok());
  EXPECT_FALSE(log.is_enabled(log_room::access, log_level::error));
  EXPECT_EQ(log.min_levels(), "error,access=none");
}

TEST(Log, LevelsThatAreNoneChangeNothing) {
  lines_logger log;
  for (const char* const text :
       {"", "loud", "debug,", "debug,tls", "tls=", "=debug", "debug,tsl=info", "tls=info=debug"}) {
    const status s = log.set_min_levels(text);
    EXPECT_EQ(s.code(), status_code::invalid_argument) << text;
    EXPECT_EQ(log.min_levels(), "info") << text;
  }
}

TEST(Log, LevelsMayChangeWhileThreadsWrite) {
  lines_logger log;
  log.set_min_level(log_level::warning);
  std::atomic<bool> ends{false};
  std::thread changes([&] {
    for (int i = 0; i < 1000; ++i)
      log.set_min_level(log_room::tls, i % 2 ? log_level::error : log_level::warning);
    ends = true;
  });
  while (!ends) log.write(log_room::tls, log_level::info, "below both");
  changes.join();
  EXPECT_TRUE(log.lines.empty());
}

TEST(Log, FieldsAndIdsFollowTheTextOfALoggerOfText) {
  lines_logger log;
  log_trace trace;
  trace.trace[15] = 0x1f;
  trace.span[7] = 2;
  log.info("text", log_field("a", 1), " goes on", log_field("b", "two words"));
  log.in(log_room::server, trace).info(log_field("c", true));
  EXPECT_EQ(log.lines, (std::vector<std::string>{
                           "info: text goes on a=1 b=\"two words\"",
                           "info: c=true trace_id=0000000000000000000000000000001f span_id=0000000000000002 "
                           "trace_flags=00",
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
  EXPECT_EXIT(
      write_all_to_stderr("no level"), testing::ExitedWithCode(0),
      "^coracle: warning: CORACLE_LOG has no log level: \"no level\": it must be debug, info, warning, "
      "error or none\ncoracle: warning: something\n");
}

}  // namespace
}  // namespace coracle::log_test
