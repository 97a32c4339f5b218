#include "coracle/base/line_logger.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/base/usage_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::line_logger_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class log_file {
 public:
  log_file() {
    std::string name = (std::filesystem::temp_directory_path() / "line_logger_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~log_file() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "log"; }
  static std::string content(const std::filesystem::path& of) {
    std::ifstream in(of);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::string content() const { return content(path()); }

 private:
  std::filesystem::path folder_;
};

TEST(LineLogger, EachFormatIsWrittenToAFile) {
  const log_file file;
  for (const log_format format : {log_format::text, log_format::json, log_format::logfmt}) {
    const auto log = line_logger::open(file.path(), format);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->in(log_room::tls).warning("an ", "event", log_field("peer", "127.0.0.1:5"), log_field("n", 3));
    (*log)->debug("not written");
  }
  EXPECT_THAT(
      file.content(),
      MatchesRegex("coracle: warning: an event peer=127.0.0.1:5 n=3\n"
                   "\\{\"time\":\"[-0-9]+T[:0-9]+\\.[0-9]{6}Z\",\"level\":\"warning\",\"room\":\"tls\","
                   "\"message\":\"an event\",\"peer\":\"127.0.0.1:5\",\"n\":3\\}\n"
                   "time=[-0-9]+T[:0-9]+\\.[0-9]{6}Z level=warning room=tls msg=\"an event\" "
                   "peer=127.0.0.1:5 n=3\n"));
  const auto permissions = std::filesystem::status(file.path()).permissions();
  EXPECT_EQ(permissions & std::filesystem::perms::others_all, std::filesystem::perms::none);
}

TEST(LineLogger, AFileThatCannotBeOpenedIsAStatus) {
  const auto log = line_logger::open("/no/such/folder/log", log_format::json);
  ASSERT_FALSE(log.ok());
  EXPECT_THAT(log.status().to_string(), HasSubstr("/no/such/folder/log"));
}

TEST(LineLogger, AfterReopenLinesGoToANewFile) {
  const log_file file;
  const auto log = line_logger::open(file.path(), log_format::text);
  ASSERT_TRUE(log.ok());
  (*log)->info("before");
  const auto renamed = file.path().string() + ".1";
  std::filesystem::rename(file.path(), renamed);
  (*log)->info("between");
  ASSERT_TRUE((*log)->reopen().ok());
  (*log)->info("after");
  EXPECT_EQ(log_file::content(renamed), "coracle: info: before\ncoracle: info: between\n");
  EXPECT_EQ(file.content(), "coracle: info: after\n");
  std::filesystem::remove_all(file.path().parent_path());
  EXPECT_FALSE((*log)->reopen().ok());
  line_logger borrowed(STDERR_FILENO, log_format::text);
  EXPECT_EQ(borrowed.reopen().code(), status_code::failed_precondition);
}

TEST(LineLogger, AFileOfStdioIsFlushedAfterEachLine) {
  const log_file file;
  std::FILE* const opened = std::fopen(file.path().c_str(), "w");
  ASSERT_TRUE(opened);
  line_logger log(opened, log_format::text);
  log.error("a line");
  EXPECT_EQ(file.content(), "coracle: error: a line\n");
  std::fclose(opened);
}

TEST(LineLogger, LinesThatCannotBeWrittenAreCounted) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  line_logger log(full, log_format::json);
  log.info("lost");
  log.info("lost");
  EXPECT_EQ(log.lost(), 2u);
  ::close(full);
}

[[noreturn]] void write_one_line(const char* format, const char* levels) {
  ::setenv("CORACLE_LOG_FORMAT", format, 1);
  ::setenv("CORACLE_LOG", levels, 1);
  stderr_logger().in(log_room::client).info("a line");
  stderr_logger().in(log_room::server).info("another line");
  std::exit(0);
}

// In processes of their own: the variables are read once.
TEST(LineLoggerDeath, TheEnvironmentSetsTheFormatAndTheLevelsOfStderr) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto ended = testing::ExitedWithCode(0);
  EXPECT_EXIT(write_one_line("json", "client=info"), ended,
              R"(^\{"time":"[^"]*","level":"info","room":"client","message":"a line"\}
$)");
  EXPECT_EXIT(write_one_line("logfmt", "debug,client=error"), ended,
              "^time=[^ ]* level=info room=server msg=\"another line\"\n$");
  EXPECT_EXIT(write_one_line("xml", "error,client=info"), ended,
              "^coracle: warning: CORACLE_LOG_FORMAT is \"xml\": it must be text, json or logfmt\n"
              "coracle: info: a line\n$");
  EXPECT_EXIT(write_one_line("", "kitchen=info"), ended,
              "^coracle: warning: CORACLE_LOG has no room of the log: \"kitchen\": it must be application, ");
}

class counting final : public logger {
 public:
  std::vector<std::string> lines;

 private:
  void record(log_level level, std::string_view message) noexcept override {
    lines.push_back(std::string(to_string(level)) + " " + std::string(message));
  }
};

class keeping final : public record_logger {
 public:
  std::vector<log_room> rooms;
  std::vector<std::size_t> fields;

 private:
  void accept(const log_record& line) noexcept override {
    rooms.push_back(line.room);
    fields.push_back(line.fields.size());
  }
};

TEST(FanOutLogger, EachLoggerGetsTheLinesOfItsLevels) {
  counting one;
  keeping two;
  one.set_min_level(log_level::warning);
  two.set_min_level(log_room::net, log_level::debug);
  fan_out_logger both({&one, &two});
  EXPECT_EQ(both.min_levels(), "info,net=debug");
  both.in(log_room::net).debug("for two");
  both.in(log_room::tls).debug("for none");
  both.warning("for both", log_field("n", 1));
  EXPECT_EQ(one.lines, std::vector<std::string>{"warning for both n=1"});
  EXPECT_EQ(two.rooms, (std::vector{log_room::net, log_room::application}));
  EXPECT_EQ(two.fields, (std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(fan_out_logger({&one, nullptr}), usage_error);
}

}  // namespace
}  // namespace coracle::line_logger_test
