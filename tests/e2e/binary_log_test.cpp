#include "coracle/telemetry/binary_log.hpp"

#include "coracle/rpc/message_codec.hpp"
#include "grpc/binarylog/v1/binarylog.pb.h"
#include "support/echo_fixture.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::testing_support::binary_log_test {
namespace {

namespace wire = ::grpc::binarylog::v1;
using entry = wire::GrpcLogEntry;
using ::testing::ElementsAre;

class memory_sink final : public binary_log_sink {
 public:
  void write(std::string&& bytes) noexcept override {
    entry e;
    EXPECT_TRUE(e.ParseFromString(bytes));
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(e));
  }
  // The entries of each call of one side, the calls in the order of their ids.
  [[nodiscard]] std::vector<std::vector<entry>> calls_of(entry::Logger by) const {
    const std::lock_guard lock(mutex_);
    std::map<std::uint64_t, std::vector<entry>> by_id;
    for (const entry& e : entries_)
      if (e.logger() == by) by_id[e.call_id()].push_back(e);
    std::vector<std::vector<entry>> calls;
    for (auto& [id, one] : by_id) calls.push_back(std::move(one));
    return calls;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<entry> entries_;
};

std::vector<int> types(const std::vector<entry>& call) {
  std::vector<int> found;
  std::uint64_t sequence = 0;
  for (const entry& e : call) {
    found.push_back(e.type());
    EXPECT_EQ(e.sequence_id_within_call(), ++sequence);
    EXPECT_GT(e.timestamp().seconds(), 0);
    EXPECT_NE(e.call_id(), 0u);
  }
  return found;
}

constexpr int client_header = 1, server_header = 2, client_message = 3, server_message = 4, half_close = 5,
              trailer = 6, cancel = 7;

std::map<std::string, std::string> pairs_of(const wire::Metadata& m) {
  std::map<std::string, std::string> pairs;
  for (const auto& e : m.entry()) pairs[e.key()] = e.value();
  return pairs;
}

echo::Text text_of(const entry& e) {
  echo::Text t;
  EXPECT_TRUE(t.ParseFromString(e.message().data()));
  EXPECT_EQ(e.message().length(), e.message().data().size());
  return t;
}

task<> wait_for(duration time) { co_await sleep_for(time); }

task<> hang(echo_stub s) {
  const echo::Text request = make_text("hang");
  (void)co_await s.Misbehave(request);
}

task<> cancel_one(echo_stub s) {
  const coro::environment& here = co_await coro::this_environment();
  scope calls(here);
  calls.spawn(hang(s));
  co_await wait_for(std::chrono::milliseconds(50));
  calls.request_stop();
  co_await calls.join();
}

class binary_logs : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    log("*");
  }
  void log(std::string_view filter) {
    channel_.reset();
    sink_ = std::make_shared<memory_sink>();
    const auto made = binary_log::make(filter, sink_);
    ASSERT_EQ(made.status(), status());
    server_.emplace(rt());
    with_binary_log(*server_, *made);
    server_->add(service_);
    link();
    channel_options options;
    options.interceptors.push_back(binary_log_interceptor(*made));
    if (address_.empty()) channel_.emplace(rt(), server_->in_process(), options);
    else channel_.emplace(rt(), address_, insecure(), options);
  }
  // Once both sides have the last entry of `calls` calls each.
  std::pair<std::vector<std::vector<entry>>, std::vector<std::vector<entry>>> logged(std::size_t calls = 1) {
    const auto ended = [&](entry::Logger by) {
      const auto all = sink_->calls_of(by);
      return all.size() >= calls && std::all_of(all.begin(), all.end(), [](const auto& call) {
               return call.back().type() >= trailer;
             });
    };
    for (int i = 0; i < 1000 && !(ended(entry::LOGGER_CLIENT) && ended(entry::LOGGER_SERVER)); ++i)
      sync_wait(rt(), rt().at(0), wait_for(std::chrono::milliseconds(5)));
    auto client = sink_->calls_of(entry::LOGGER_CLIENT);
    auto server = sink_->calls_of(entry::LOGGER_SERVER);
    EXPECT_EQ(client.size(), calls);
    EXPECT_EQ(server.size(), calls);
    client.resize(calls, std::vector<entry>(1));
    server.resize(calls, std::vector<entry>(1));
    return {std::move(client), std::move(server)};
  }
  std::shared_ptr<memory_sink> sink_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, binary_logs, every_world_and_link, echo_fixture::case_name);

TEST_P(binary_logs, AUnaryCallHasTheSameEntriesOnBothSides) {
  call_options options;
  options.timeout = std::chrono::seconds(60);
  options.add_metadata("x-user", "ada").add_metadata("x-team-bin", std::string("\0\xff", 2));
  ASSERT_EQ(sync_wait(stub().Misbehave(text("metadata", 7), options)).status(), status());
  const auto [client, server] = logged();
  for (const auto& call : {client[0], server[0]}) {
    ASSERT_THAT(types(call), ElementsAre(client_header, client_message, half_close, server_header,
                                         server_message, trailer));
    const wire::ClientHeader& header = call[0].client_header();
    EXPECT_EQ(header.method_name(), "/echo.Echo/Misbehave");
    EXPECT_FALSE(header.authority().empty());
    EXPECT_GT(header.timeout().seconds(), 50);
    EXPECT_LE(header.timeout().seconds(), 60);
    const std::map<std::string, std::string> expected{{"x-user", "ada"},
                                                      {"x-team-bin", std::string("\0\xff", 2)}};
    EXPECT_EQ(pairs_of(header.metadata()), expected);
    EXPECT_EQ(text_of(call[1]).count(), 7);
    EXPECT_EQ(pairs_of(call[3].server_header().metadata()), expected);
    EXPECT_EQ(text_of(call[4]).count(), 7);
    EXPECT_EQ(call[5].trailer().status_code(), 0u);
    EXPECT_EQ(pairs_of(call[5].trailer().metadata())["x-trailer"], "late");
    for (const entry& e : call) EXPECT_FALSE(e.payload_truncated());
  }
  EXPECT_EQ(client[0][0].client_header().authority(), server[0][0].client_header().authority());
  EXPECT_NE(client[0][0].call_id(), server[0][0].call_id());
}

TEST_P(binary_logs, ThePeerIsOnTheFirstEntryThatCameFromIt) {
  ASSERT_EQ(sync_wait(stub().Say(text("x"))).status(), status());
  const auto [client, server] = logged();
  for (const entry& e : client[0]) EXPECT_EQ(e.has_peer(), e.type() == server_header);
  for (const entry& e : server[0]) EXPECT_EQ(e.has_peer(), e.type() == client_header);
  const wire::Address& to = client[0][3].peer();
  switch (std::get<1>(GetParam())) {
    case link_kind::tcp:
      EXPECT_EQ(to.type(), wire::Address::TYPE_IPV4);
      EXPECT_EQ(to.address(), "127.0.0.1");
      EXPECT_EQ(to.ip_port(), server_->port());
      EXPECT_EQ(server[0][0].peer().address(), "127.0.0.1");
      break;
    case link_kind::unix_socket:
      EXPECT_EQ(to.type(), wire::Address::TYPE_UNIX);
      EXPECT_THAT(to.address(), ::testing::StartsWith("@coracle-e2e-"));
      break;
    case link_kind::in_process: EXPECT_EQ(to.type(), wire::Address::TYPE_UNKNOWN); break;
  }
}

TEST_P(binary_logs, ACallThatFailsHasATrailerAlone) {
  EXPECT_EQ(sync_wait(stub().Misbehave(text("status"))).status().code(), status_code::not_found);
  const auto [client, server] = logged();
  for (const auto& call : {client[0], server[0]}) {
    ASSERT_THAT(types(call), ElementsAre(client_header, client_message, half_close, trailer));
    EXPECT_EQ(call[3].trailer().status_code(), 5u);
    EXPECT_EQ(call[3].trailer().status_message(), "no such name \xc3\xbc 100%");
    EXPECT_EQ(call[3].trailer().status_details(), "details");
  }
  EXPECT_TRUE(client[0][3].has_peer());  // Trailers-Only
  EXPECT_FALSE(client[0][0].has_peer());
}

TEST_P(binary_logs, StreamsHaveAnEntryForEachMessageInOrder) {
  run(expect_streams_of_all_kinds(stub()));
  const auto [client, server] = logged(3);
  for (const auto* side : {&client, &server}) {
    EXPECT_THAT(types((*side)[0]), ElementsAre(client_header, client_message, half_close, server_header,
                                               server_message, server_message, server_message, trailer));
    EXPECT_THAT(types((*side)[1]), ElementsAre(client_header, client_message, client_message, client_message,
                                               half_close, server_header, server_message, trailer));
    // Requests and replies of the third one pass each other.
    std::map<int, int> counts;
    for (const int t : types((*side)[2])) ++counts[t];
    EXPECT_EQ(counts, (std::map<int, int>{{client_header, 1},
                                          {client_message, 3},
                                          {half_close, 1},
                                          {server_header, 1},
                                          {server_message, 3},
                                          {trailer, 1}}));
    EXPECT_EQ((*side)[2].back().type(), trailer);
    int next = 0;
    for (const entry& e : (*side)[2]) {
      if (e.type() == server_message) {
        EXPECT_EQ(text_of(e).count(), next++);
      }
    }
  }
}

TEST_P(binary_logs, ACancelledCallEndsWithCancel) {
  call_options options;
  options.timeout = std::chrono::milliseconds(50);
  EXPECT_EQ(sync_wait(stub().Misbehave(text("hang"), options)).status().code(),
            status_code::deadline_exceeded);
  auto [client, server] = logged();
  EXPECT_THAT(types(client[0]), ElementsAre(client_header, client_message, half_close, cancel));
  // The server has the deadline, too, and answers, or learns of the client's cancellation first.
  EXPECT_GE(types(server[0]).back(), trailer);

  log("*");
  run(cancel_one(stub()));
  std::tie(client, server) = logged();
  EXPECT_THAT(types(client[0]), ElementsAre(client_header, client_message, half_close, cancel));
  EXPECT_THAT(types(server[0]), ElementsAre(client_header, client_message, half_close, cancel));
}

TEST_P(binary_logs, HeadersAndMessagesAreTruncatedAsTheFilterSays) {
  log("*{h:13;m:4}");
  call_options options;
  options.add_metadata("x-a", "1234567890");  // 13 bytes
  options.add_metadata("x-b", "1");
  ASSERT_EQ(sync_wait(stub().Say(text("hello, world"), options)).status(), status());
  const auto [client, server] = logged();
  for (const auto& call : {client[0], server[0]}) {
    ASSERT_EQ(types(call).size(), 6u);
    EXPECT_TRUE(call[0].payload_truncated());
    EXPECT_EQ(pairs_of(call[0].client_header().metadata())["x-a"], "1234567890");
    EXPECT_FALSE(pairs_of(call[0].client_header().metadata()).contains("x-b"));
    for (const int i : {1, 4}) {
      EXPECT_TRUE(call[static_cast<std::size_t>(i)].payload_truncated());
      EXPECT_EQ(call[static_cast<std::size_t>(i)].message().data().size(), 4u);
      EXPECT_EQ(call[static_cast<std::size_t>(i)].message().length(), 14u);
    }
  }
}

TEST_P(binary_logs, OnlyWhatTheFilterSelectsIsLogged) {
  log("echo.Echo/*{h},-echo.Echo/Misbehave");
  EXPECT_EQ(sync_wait(stub().Misbehave(text("status"))).status().code(), status_code::not_found);
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const auto [client, server] = logged(1);
  EXPECT_EQ(client[0][0].client_header().method_name(), "/echo.Echo/Say");
  EXPECT_EQ(client[0][1].message().data(), "");
  EXPECT_EQ(client[0][1].message().length(), 7u);
  EXPECT_TRUE(client[0][1].payload_truncated());
}

class no_codec final : public message_codec {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "none"; }
  status write(const google::protobuf::Message&, std::string&) const override {
    return status::internal("nothing can be written");
  }
  status read(google::protobuf::Message&, bytes_view) const override { return {}; }
};

TEST_P(binary_logs, AMessageThatCannotBeWrittenIsLeftOut) {
  const no_codec codec;
  call_options options;
  options.codec = &codec;
  const auto reply = sync_wait(stub().Say(text("hello"), options));
  EXPECT_EQ(reply.status(), status::internal("nothing can be written"));
  const auto client = sink_->calls_of(entry::LOGGER_CLIENT);
  ASSERT_EQ(client.size(), 1u);
  EXPECT_THAT(types(client[0]), ElementsAre(client_header, half_close, trailer));
  EXPECT_EQ(client[0][2].trailer().status_code(), 13u);
}

TEST_P(binary_logs, RetriesAreOneCall) {
  const auto config = service_config::parse(R"({"methodConfig": [{"name": [{}], "retryPolicy": {
      "maxAttempts": 3, "initialBackoff": "0.01s", "maxBackoff": "0.01s", "backoffMultiplier": 1,
      "retryableStatusCodes": ["NOT_FOUND"]}}]})");
  ASSERT_EQ(config.status(), status());
  const auto made = binary_log::make("*", sink_);
  channel_options options;
  options.service_config = *config;
  options.interceptors.push_back(binary_log_interceptor(*made));
  channel retrying = address_.empty() ? channel(rt(), server_->in_process(), options)
                                      : channel(rt(), address_, insecure(), options);
  EXPECT_EQ(sync_wait(echo_stub(retrying).Misbehave(text("status"))).status().code(), status_code::not_found);
  const auto client = sink_->calls_of(entry::LOGGER_CLIENT);
  ASSERT_EQ(client.size(), 1u);
  EXPECT_THAT(types(client[0]), ElementsAre(client_header, client_message, half_close, trailer));
  EXPECT_EQ(sink_->calls_of(entry::LOGGER_SERVER).size(), 3u);
}

// --- files

std::vector<entry> entries_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<entry> found;
  unsigned char length[4];
  while (file.read(reinterpret_cast<char*>(length), 4)) {
    std::string bytes((std::size_t{length[0]} << 24) + (length[1] << 16) + (length[2] << 8) + length[3],
                      '\0');
    EXPECT_TRUE(file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())));
    found.emplace_back();
    EXPECT_TRUE(found.back().ParseFromString(bytes));
  }
  return found;
}

TEST(BinaryLogFile, HasEachEntryBehindItsLength) {
  const net::scratch_folder folder;
  const std::string path = folder / "calls.binlog";
  const auto file = binary_log_file::open(path);
  ASSERT_EQ(file.status(), status());
  runtime rt;
  server s(rt);
  echo_service service;
  const auto log = binary_log::make("*", *file);
  ASSERT_EQ(log.status(), status());
  with_binary_log(s, *log);
  s.add(service);
  const channel c(rt, s.in_process());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(sync_wait(echo_stub(c).Say(make_text("hello"))).status(), status());
  // The server ends a call after the client has its reply.
  std::vector<entry> found;
  for (int i = 0; i < 1000 && found.size() < 60; ++i) {
    sync_wait(rt, rt.at(0), wait_for(std::chrono::milliseconds(1)));
    (*file)->flush();
    found = entries_of(path);
  }
  EXPECT_EQ(found.size(), 60u);
  EXPECT_EQ((*file)->dropped(), 0u);
  const auto mode = std::filesystem::status(path).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(BinaryLogFile, WhatDoesNotFitIsDroppedAndCounted) {
  const net::scratch_folder folder;
  const std::string path = folder / "small.binlog";
  const auto file = binary_log_file::open(path, {std::chrono::hours(1), 100});
  ASSERT_EQ(file.status(), status());
  for (int i = 0; i < 10; ++i) (*file)->write(std::string(16, 'x'));
  EXPECT_EQ((*file)->dropped(), 5u);
  (*file)->flush();
  (*file)->write(std::string(16, 'x'));
  EXPECT_EQ((*file)->dropped(), 5u);
  (*file)->flush();
  EXPECT_EQ(std::filesystem::file_size(path), 6 * 20u);
}

TEST(BinaryLogFile, AFullDiskCostsEntriesAlone) {
  const auto file = binary_log_file::open("/dev/full");
  ASSERT_EQ(file.status(), status());
  (*file)->write("entry");
  (*file)->flush();
  EXPECT_EQ((*file)->dropped(), 1u);
  EXPECT_EQ(binary_log_file::open("/no/such/folder/log").status().code(), status_code::unavailable);
}

TEST(BinaryLogOfTheEnvironment, IsMalformedOrEmptyOrALog) {
  const auto sink = std::make_shared<memory_sink>();
  ::setenv("GRPC_BINARY_LOG_FILTER", "*,p.S/M{x}", 1);
  const auto bad = binary_log::from_environment(sink);
  EXPECT_EQ(bad.status().code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(bad.status().message()),
              ::testing::StartsWith("GRPC_BINARY_LOG_FILTER: the filter of the binary log is malformed at "
                                    "character 3, \"p.S/M{x}\""));
  ::unsetenv("GRPC_BINARY_LOG_FILTER");
  EXPECT_EQ(binary_log::from_environment(sink).status(), status());
}

}  // namespace
}  // namespace coracle::testing_support::binary_log_test
