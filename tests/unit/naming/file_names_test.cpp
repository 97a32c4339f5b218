#include "naming/file_names.hpp"

#include "coracle/client/channel_options.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_file_names.hpp"
#include "coracle/runtime/sim.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace coracle::naming::file_names_test {
namespace {

using testing::HasSubstr;

TEST(ServerFile, ListsEndpointsWithWeightsAndAServiceConfig) {
  const result<server_list> list = parse_server_file(R"({
    "endpoints": ["10.0.0.1:50051", {"address": "[::1]:50052", "weight": 3}, {"address": "unix:/run/x.sock"}],
    "serviceConfig": {"loadBalancingConfig": [{"round_robin": {}}]}})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->servers.size(), 3u);
  EXPECT_EQ(list->servers[0], client::endpoint(net::address::parse("10.0.0.1:50051").value()));
  EXPECT_EQ(list->servers[1], client::endpoint(net::address::parse("[::1]:50052").value(), 3));
  EXPECT_EQ(list->servers[2], client::endpoint(net::address::parse("unix:/run/x.sock").value()));
  EXPECT_EQ(list->service_config, R"({"loadBalancingConfig":[{"round_robin":{}}]})");
}

struct wrong_file_row {
  std::string text;
  const char* says;
};
void PrintTo(const wrong_file_row& r, std::ostream* out) { *out << r.text.substr(0, 60); }

class WrongServerFile : public testing::TestWithParam<wrong_file_row> {};

TEST_P(WrongServerFile, IsRefusedWithTheReason) {
  const result<server_list> list = parse_server_file(GetParam().text);
  ASSERT_FALSE(list.ok());
  EXPECT_THAT(std::string(list.status().message()), HasSubstr(GetParam().says));
}

std::string many_values() {
  std::string text = R"({"endpoints": [)";
  for (int i = 0; i < 300'000; ++i) text += "1,";
  return text + "1]}";
}

INSTANTIATE_TEST_SUITE_P(
    Files, WrongServerFile,
    testing::Values(
        wrong_file_row{"", "JSON"}, wrong_file_row{"[]", "must have an object"},
        wrong_file_row{R"({"endpoints": []})", "lists no server"}, wrong_file_row{"{}", "lists no server"},
        wrong_file_row{R"({"endpoints": ["10.0.0.1:1"], "weight": 1})",
                       "neither endpoints nor serviceConfig"},
        wrong_file_row{R"({"endpoints": {}})", "endpoints must be an array"},
        wrong_file_row{R"({"endpoints": ["movies:1"]})", "endpoints[0]"},
        wrong_file_row{R"({"endpoints": ["10.0.0.1:1", 7]})", "endpoints[1] has no address"},
        wrong_file_row{R"({"endpoints": [{"weight": 1}]})", "endpoints[0] has no address"},
        wrong_file_row{R"({"endpoints": [{"address": "10.0.0.1:1", "wieght": 1}]})", "unknown member"},
        wrong_file_row{R"({"endpoints": [{"address": "10.0.0.1:1", "weight": -1}]})", "endpoints[0].weight"},
        wrong_file_row{R"({"endpoints": [{"address": "10.0.0.1:1", "weight": 4294967296}]})",
                       "endpoints[0].weight"},
        wrong_file_row{R"({"endpoints": ["10.0.0.1:1"], "serviceConfig": {"methodConfig": 1}})",
                       "serviceConfig:"},
        wrong_file_row{std::string(200, '['), "nested"}, wrong_file_row{many_values(), "values"},
        wrong_file_row{std::string(document_bytes_max + 1, ' '), "limit 4194304"}));

class published_ports final : public client::resolution_sink {
 public:
  void publish(client::resolution found) override {
    std::string line;
    for (const client::endpoint& e : found.endpoints()) line += std::to_string(e.address().port()) + " ";
    lines.push_back(line);
  }
  void fail(const status& reason) override { lines.emplace_back(reason.message()); }
  task<> wait_until_requested() override { co_await sleep_for(std::chrono::hours(1)); }
  std::vector<std::string> lines;
};

// Runs the resolver of a target, and a step at the end of each two seconds.
class FileNames : public testing::Test {
 protected:
  void write(std::string_view text) { std::ofstream(path_) << text; }
  void follow(const std::string& text) {
    channel_options options;
    with_file_names(options);
    of_.emplace(client::target::parse(text, {"file"}).value());
    by_ = (*options.resolver_makers().find("file")->second)(*of_);
    world_.host("client").spawn(by_->run(*of_, sink_));
    world_.run_for(std::chrono::seconds(2));
  }
  void step() { world_.run_for(std::chrono::seconds(2)); }

  net::scratch_folder folder_;
  const std::string path_ = folder_ / "movies.json";
  published_ports sink_;
  std::optional<client::target> of_;
  std::shared_ptr<client::resolver> by_;
  sim::world world_{1};
};

TEST_F(FileNames, ChangesAreFollowedAndBrokenFilesAreNot) {
  follow("file://" + path_);
  ASSERT_EQ(sink_.lines.size(), 1u);
  EXPECT_THAT(sink_.lines[0], HasSubstr("movies.json"));
  write(R"({"endpoints": ["10.0.0.1:1"]})");
  step();
  write("{");
  step();
  write("");
  step();
  write(R"({"endpoints": []})");
  step();
  std::filesystem::remove(path_);
  step();
  EXPECT_EQ(sink_.lines.size(), 2u);
  std::ofstream(folder_ / "next") << R"({"endpoints": ["10.0.0.1:1", "10.0.0.1:2"]})";
  std::filesystem::rename(folder_ / "next", path_);
  step();
  write(R"({"endpoints": ["10.0.0.1:1", "10.0.0.1:3"]})");
  step();
  EXPECT_THAT(sink_.lines, testing::ElementsAre(testing::_, "1 ", "1 2 ", "1 3 "));
}

TEST_F(FileNames, APathWithoutSlashesIsAPathToo) {
  write(R"({"endpoints": ["10.0.0.1:1"]})");
  follow("file:" + path_);
  EXPECT_THAT(sink_.lines, testing::ElementsAre("1 "));
  EXPECT_EQ(by_->authority(*of_), "localhost");
}

TEST_F(FileNames, AHostIsRefused) {
  follow("file://host" + path_);
  ASSERT_EQ(sink_.lines.size(), 1u);
  EXPECT_THAT(sink_.lines[0], HasSubstr("write file:///path"));
}

}  // namespace
}  // namespace coracle::naming::file_names_test
