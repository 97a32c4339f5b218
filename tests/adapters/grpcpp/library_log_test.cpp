// The library's own log lines in a relinked program: the variables of grpc++, and the function that the
// program sets.
#include "adapters/grpcpp/src/process/library_log.hpp"

#include <grpcpp/grpcpp.h>

#include <grpc/support/log.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>

namespace coracle::testing_support::library_log_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class quiet_log final : public logger {
 private:
  void record(log_level, std::string_view) noexcept override {}
};

std::string levels_after(std::string_view verbosity, std::string_view tracers,
                         std::string* unknown = nullptr) {
  quiet_log log;
  log.set_min_level(log_level::warning);
  const std::string names = grpc::internal::set_levels_of_grpc(log, verbosity, tracers);
  if (unknown) *unknown = names;
  return log.min_levels();
}

TEST(LibraryLog, TheVerbositySetsTheLevelsOfAllRooms) {
  EXPECT_EQ(levels_after("", ""), "warning");
  EXPECT_EQ(levels_after("DEBUG", ""), "debug");
  EXPECT_EQ(levels_after("info", ""), "info");
  EXPECT_EQ(levels_after("ERROR", ""), "warning");
  EXPECT_EQ(levels_after("NONE", ""), "none");
  EXPECT_EQ(levels_after("verbose", ""), "warning");
}

TEST(LibraryLog, TracersTurnOnTheirRooms) {
  EXPECT_EQ(levels_after("", "tcp,subchannel"), "warning,net=debug,client=debug");
  EXPECT_EQ(levels_after("info", "tsi"), "info,tls=debug");
  EXPECT_EQ(levels_after("", "all"), "debug");
  EXPECT_EQ(levels_after("", "all, -http,-tsi"), "debug,tls=warning,transport=warning");
  std::string unknown;
  EXPECT_EQ(levels_after("", "http, nonsense,,su,\x1b[2J", &unknown), "warning,transport=debug");
  EXPECT_EQ(unknown, "nonsense, su, ?[2J");
}

// A call to where nothing listens.
void fail_to_connect() {
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  static_cast<void>(
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::milliseconds(50)));
}

[[noreturn]] void connect_with(const char* verbosity, const char* tracers, const char* own = "") {
  ::setenv("GRPC_VERBOSITY", verbosity, 1);
  ::setenv("GRPC_TRACE", tracers, 1);
  ::setenv("CORACLE_LOG", own, 1);
  fail_to_connect();
  std::exit(0);
}

// In processes of their own: the variables are read once.
TEST(LibraryLogDeath, AProgramReportsWhatTheVariablesAskFor) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto ended = testing::ExitedWithCode(0);
  EXPECT_EXIT(connect_with("info", ""), ended, HasSubstr("coracle: info: cannot connect to 127.0.0.1:1: "));
  EXPECT_EXIT(connect_with("", "subchannel"), ended, HasSubstr("coracle: debug: 127.0.0.1:1: "));
  EXPECT_EXIT(connect_with("", ""), ended, Not(HasSubstr("coracle: ")));
  EXPECT_EXIT(connect_with("debug", "nonsense", "error"), ended, Not(HasSubstr("coracle: ")));
  EXPECT_EXIT(connect_with("", "nonsense,tcp"), ended,
              HasSubstr("coracle: warning: grpc++: GRPC_TRACE has tracers that do not exist: nonsense\n"));
}

std::mutex lines_mutex;
std::string& lines() {
  static std::string& only = *new std::string;
  return only;
}

TEST(LibraryLog, TheFunctionOfTheProgramGetsTheLinesOfTheLibrary) {
  gpr_set_log_function([](gpr_log_func_args* line) {
    const std::lock_guard held(lines_mutex);
    lines().append(std::to_string(line->severity)).append(" ").append(line->message).append("\n");
  });
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO);
  fail_to_connect();
  grpc::internal::library_log().warning("a warning", log_field("n", 1));
  gpr_set_log_function(nullptr);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  const std::lock_guard held(lines_mutex);
  EXPECT_THAT(lines(), HasSubstr("1 cannot connect to 127.0.0.1:1: "));
  EXPECT_THAT(lines(), HasSubstr("2 a warning n=1\n"));
}

}  // namespace
}  // namespace coracle::testing_support::library_log_test
