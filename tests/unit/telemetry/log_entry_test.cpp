#include "telemetry/binary_log/log_entry.hpp"

#include "rpc/proto_wire.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::log_entry_test {
namespace {

using pairs = std::vector<std::pair<std::string, std::string>>;

// The text of a field, or its number as text; empty if there is none.
std::string field(std::string_view message, std::uint32_t number) {
  rpc::proto_reader reader(message);
  std::string found;
  while (reader.next())
    if (reader.field() == number)
      found = reader.text().empty() ? std::to_string(reader.number()) : std::string(reader.text());
  EXPECT_TRUE(reader.ok());
  return found;
}

pairs pairs_of(std::string_view metadata_message) {
  pairs found;
  rpc::proto_reader reader(metadata_message);
  while (reader.next()) found.emplace_back(field(reader.text(), 1), field(reader.text(), 2));
  EXPECT_TRUE(reader.ok());
  return found;
}

log_entry made(log_event type = log_event::client_header) {
  return {type, log_side::server, 300, wall_time(std::chrono::seconds(5))};
}

metadata received() {
  metadata m;
  for (const auto& [key, value] : pairs{{"x-a", "12345"},
                                        {"user-agent", "grpc-go"},
                                        {"grpc-timeout", "1S"},
                                        {"te", "trailers"},
                                        {"content-type", "application/grpc"},
                                        {"lb-token", "t"},
                                        {"x-b", "12345"},
                                        {"x-c", "1"},
                                        {"grpc-trace-bin", "trace"}})
    m.add_received(key, value);
  return m;
}

TEST(LogEntry, HasItsNumbersAndTheTime) {
  const std::string entry = made(log_event::cancel).numbered(7);
  EXPECT_EQ(field(field(entry, 1), 1), "5");
  EXPECT_EQ(field(entry, 2), "300");
  EXPECT_EQ(field(entry, 3), "7");
  EXPECT_EQ(field(entry, 4), "7");
  EXPECT_EQ(field(entry, 5), "2");
}

TEST(LogEntry, LeavesOutWhatGrpcAndHttpUseThemselves) {
  log_entry e = made();
  e.server_header(received(), {});
  const std::string entry = e.numbered(1);
  EXPECT_EQ(pairs_of(field(field(entry, 7), 1)),
            (pairs{{"x-a", "12345"}, {"x-b", "12345"}, {"x-c", "1"}, {"grpc-trace-bin", "trace"}}));
  EXPECT_EQ(field(entry, 10), "");
}

TEST(LogEntry, KeepsPairsInTheirOrderWhileTheyFitAndTheTraceAlways) {
  log_entry e = made();
  e.trailer(received(), status::not_found("gone"), {.header_bytes = 15, .message_bytes = 0});
  const std::string entry = e.numbered(1);
  const std::string trailer = field(entry, 9);
  EXPECT_EQ(pairs_of(field(trailer, 1)), (pairs{{"x-a", "12345"}, {"grpc-trace-bin", "trace"}}));
  EXPECT_EQ(field(trailer, 2), "5");
  EXPECT_EQ(field(trailer, 3), "gone");
  EXPECT_EQ(field(entry, 10), "1");
}

TEST(LogEntry, KeepsTheBeginningOfAMessageAndItsLength) {
  log_entry e = made(log_event::client_message);
  e.message(as_bytes(std::string_view("hello")), {.header_bytes = 0, .message_bytes = 2});
  const std::string entry = e.numbered(1);
  EXPECT_EQ(field(field(entry, 8), 1), "5");
  EXPECT_EQ(field(field(entry, 8), 2), "he");
  EXPECT_EQ(field(entry, 10), "1");
}

TEST(LogEntry, WritesAddressesWithoutPortAndScope) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"127.0.0.1:443", {"1", "127.0.0.1", "443"}},
      {"[::1]:80", {"2", "::1", "80"}},
      {"[fe80::1%2]:80", {"2", "fe80::1", "80"}},
      {"unix:/run/movies.sock", {"3", "/run/movies.sock", ""}},
      {"unix-abstract:movies", {"3", "@movies", ""}},
  };
  for (const auto& [text, expected] : cases) {
    log_entry e = made();
    e.peer(*net::address::parse(text));
    const std::string peer = field(e.numbered(1), 11);
    EXPECT_EQ((std::vector<std::string>{field(peer, 1), field(peer, 2), field(peer, 3)}), expected);
  }
}

}  // namespace
}  // namespace coracle::telemetry_internal::log_entry_test
