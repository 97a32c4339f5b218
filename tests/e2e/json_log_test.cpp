// The log of a real server as JSON, read by another program's parser; and the access log's fields and
// sampling.
#include "echo.coracle.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/base/line_logger.hpp"
#include "coracle/client.hpp"
#include "coracle/rpc/call_log.hpp"
#include "coracle/server.hpp"
#include "coracle/server/access_log.hpp"
#include "support/child_program.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing_support::json_log_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr const char* ids =
    "span_id='00f067aa0ba902b7' trace_flags='01' trace_id='4bf92f3577b34da6a3ce929d0e0e4736'";

class logging_service final : public echo::rpc::Echo::service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    context.log().info("said", log_field("text", request.text()), log_field("count", request.count()));
    co_await log_below();
    co_return request;
  }
  reply<echo::Text> Misbehave(server_context&, const echo::Text& request) override {
    if (request.text() == "slow")
      co_await sleep_for(30ms);  // sleeps on purpose: the call is to take this time
    if (request.text() == "fail") co_return status::not_found("\"no\"\nlevel=error");
    if (request.text() == "throw") throw std::runtime_error("thrown \"\x1b[2J\n\xff");
    co_return request;
  }

 private:
  static task<> log_below() {
    const coro::environment& here = co_await coro::this_environment();
    call_log(here).warning("below the handler");
  }
};

echo::Text text(const std::string& content) {
  echo::Text t;
  t.set_text(content);
  return t;
}

// A server and a client of one process over TCP, both with the log.
class served {
 public:
  explicit served(logger& log) : runtime_({.loops = 1, .log = &log}) {}
  server& start(std::shared_ptr<access_log> access) {
    server_.emplace(runtime_);
    server_->add(service_);
    if (access) server_->add_interceptor(std::move(access));
    EXPECT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(runtime_, "127.0.0.1:" + std::to_string(server_->port()), insecure());
    return *server_;
  }
  status call(const std::string& content, const call_options& options = {}) {
    const echo::rpc::Echo::stub stub(*channel_);
    if (content.starts_with("say ")) return sync_wait(stub.Say(text(content.substr(4)), options)).status();
    return sync_wait(stub.Misbehave(text(content), options)).status();
  }

 private:
  coracle::runtime runtime_;
  logging_service service_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};

struct log_folder {
  log_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "json_log_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~log_folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return (path / "log").string(); }
  // What another parser finds in the file.
  [[nodiscard]] std::string parsed() const {
    child_program reader({"/usr/bin/env", "python3", CORACLE_TESTS_DIR "/support/log_lines.py", file()}, {});
    std::string all;
    for (std::string line = reader.line(); !line.empty(); line = reader.line()) all.append(line).append("\n");
    EXPECT_EQ(reader.end(), 0) << all;
    return all;
  }
  std::filesystem::path path;
};

TEST(JsonLog, AnotherParserReadsWhatAServerOfHostileClientsWrites) {
  const log_folder folder;
  {
    const auto log = line_logger::open(folder.file(), log_format::json);
    ASSERT_TRUE(log.ok()) << log.status();
    served of(**log);
    access_log_options fields;
    fields.fields.push_back(access_field::status_message);
    fields.metadata = {"x-note", "x-binary-bin", "x-absent"};
    of.start(std::make_shared<access_log>(**log, fields));
    call_options hostile;
    hostile.add_metadata("traceparent", parent);
    hostile.add_metadata("x-note", "\"},{\"level\":\"error\\");
    hostile.add_metadata("x-binary-bin", std::string("\0\n\xff\xc3", 4));
    EXPECT_TRUE(of.call("say \"quoted\"\nlevel=error \\ \x1b[31m\xe2\x80\xae\xf0\x9f\x98\x80", hostile).ok());
    EXPECT_EQ(of.call("fail", hostile).code(), status_code::not_found);
    EXPECT_EQ(of.call("throw", hostile).code(), status_code::unknown);
    EXPECT_TRUE(of.call("say again").ok());
  }
  const std::string lines = folder.parsed();
  EXPECT_THAT(lines,
              HasSubstr("count=0 level='info' message='said' room='application' span_id='00f067aa0ba902b7' "
                        "text='\"quoted\"\\nlevel=error \\\\ \\x1b[31m\\u202e\xf0\x9f\x98\x80' "
                        "trace_flags='01' trace_id='4bf92f3577b34da6a3ce929d0e0e4736'\n"));
  EXPECT_THAT(
      lines, HasSubstr("level='warning' message='below the handler' room='application' " + std::string(ids)));
  EXPECT_THAT(lines, HasSubstr("count=0 level='info' message='said' room='application' text='again'\n"));
  EXPECT_THAT(lines, HasSubstr("level='error' message='the handler of /echo.Echo/Misbehave threw"));
  EXPECT_THAT(lines, HasSubstr("room='server' " + std::string(ids)));
  EXPECT_THAT(lines, HasSubstr("call='/echo.Echo/Say' duration_us="));
  EXPECT_THAT(lines, HasSubstr("x-binary-bin='\?\?\?\?' x-note='\"},{\"level\":\"error\\\\'\n"));
  EXPECT_THAT(lines, HasSubstr("status_message='\"no\"?level=error'"));
  EXPECT_THAT(lines, HasSubstr("room='access'"));
  EXPECT_THAT(lines, HasSubstr("room='runtime'"));
  EXPECT_THAT(lines, Not(HasSubstr("x-absent")));
}

// How often a text occurs.
std::size_t times(const std::string& wanted, const std::string& in) {
  std::size_t n = 0;
  for (auto at = in.find(wanted); at != in.npos; at = in.find(wanted, at + 1)) ++n;
  return n;
}

TEST(AccessLog, SamplingLeavesOutOnlyFastCallsThatSucceed) {
  kept_log lines;
  {
    served of(lines);
    access_log_options options;
    options.fields = {access_field::status, access_field::method};
    options.sample_one_of = 4;
    options.slow = 20ms;
    of.start(std::make_shared<access_log>(lines, options));
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(of.call("fast").ok());
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(of.call("fail").ok());
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(of.call("slow").ok());
  }
  const std::string output = lines.text();
  EXPECT_EQ(times("status=OK call=/echo.Echo/Misbehave\n", output), 8u / 4 + 2) << output;
  EXPECT_EQ(times("status=NOT_FOUND call=/echo.Echo/Misbehave\n", output), 3u) << output;
}

TEST(AccessLog, ItsRoomHasALevelOfItsOwn) {
  kept_log lines;
  served of(lines);
  of.start(std::make_shared<access_log>(lines));
  lines.set_min_level(log_room::access, log_level::warning);
  EXPECT_TRUE(of.call("one").ok());
  EXPECT_THAT(lines.text(), Not(HasSubstr("call=")));
  lines.set_min_level(log_level::warning);
  lines.set_min_level(log_room::access, log_level::info);  // while the server runs
  EXPECT_TRUE(of.call("two").ok());
  EXPECT_THAT(lines.text(), HasSubstr("call="));
}

TEST(AccessLog, OptionsThatCannotBeAreRefused) {
  kept_log lines;
  access_log_options options;
  options.sample_one_of = 0;
  EXPECT_THROW(access_log(lines, options), usage_error);
  for (const char* const secret : {"authorization", "cookie", "proxy-authorization"}) {
    access_log_options of_secrets;
    of_secrets.metadata = {"x-note", secret};
    EXPECT_THROW(access_log(lines, of_secrets), usage_error);
  }
  access_log_options many;
  many.metadata.assign(access_log_options::metadata_max + 1, "x-note");
  EXPECT_THROW(access_log(lines, many), usage_error);
}

TEST(FanOutLogger, AServerWritesToSeveralLogsAtOnce) {
  const log_folder folder;
  kept_log warnings;
  warnings.set_min_level(log_level::warning);
  {
    const auto all = line_logger::open(folder.file(), log_format::json);
    ASSERT_TRUE(all.ok());
    fan_out_logger both({&warnings, all->get()});
    served of(both);
    of.start(nullptr);
    EXPECT_TRUE(of.call("say hello").ok());
  }
  EXPECT_EQ(warnings.text(), "below the handler\n");
  EXPECT_THAT(folder.parsed(), HasSubstr("text='hello'"));
}

}  // namespace
}  // namespace coracle::testing_support::json_log_test
