// The relay of coracle chaos between a client and a server: how connections end whose handshake or whose
// bytes have a fault.
#include "tools/chaos/relay.hpp"
#include "tools/chaos/tls_record.hpp"

#include "coracle/coro/when_all.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools::chaos::chaos_relay_test {
namespace {

using ::testing::StartsWith;

class Relay : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Relay, testing_support::all_kinds, Relay::case_name);

constexpr std::string_view client_hello("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", 10);
constexpr std::string_view not_a_hello("\x16\x03\x01\x00\x05\x14\x00\x00\x01\x00", 10);

// A client and a server with the relay between them.
class relayed {
 public:
  explicit relayed(std::string_view script) : faults_(parse_script(script, "test")) {}
  std::size_t piece_bytes = 1 << 20;  // of what the client sends
  bool client_ends = false;  // after what it sends

  std::string to_server, to_client;  // what arrives
  std::string heard;

  task<> run(std::string of_client, std::string of_server) {
    net::stream_pair front = co_await net::connected_pair();
    net::stream_pair back = co_await net::connected_pair();
    fault_plan plan(faults_, 1, 1, duration{});
    relay between(std::move(front.server), std::move(back.client), std::move(plan), nullptr,
                  loop::current()->now(), [this](fault_kind k, std::string_view what) {
                    heard.append(name_of(k)).append(" ").append(what).append("; ");
                  });
    co_await when_all(between.run(), talk(front.client, of_client, piece_bytes, client_ends, to_client),
                      talk(back.server, of_server, 1 << 20, false, to_server));
  }

 private:
  // Sends, and closes once the other side has.
  static task<> talk(net::stream& s, std::string_view bytes, std::size_t piece, bool ends, std::string& got) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), piece))) {
      const status sent = co_await net::write_text(s, bytes.substr(0, piece));
      EXPECT_TRUE(sent.ok()) << sent;
    }
    if (ends) s.shutdown_send();
    got = co_await net::read_text(s, 1 << 20);
    s.close();
  }

  const std::vector<fault> faults_;
};

TEST_P(Relay, AnswersAHandshakeWithAnAlertAndBothSidesGetAnEnd) {
  for (const std::size_t piece : {1, 5, 6, 100}) {
    relayed here("alert 100%");
    here.piece_bytes = piece;
    run(here.run(std::string(client_hello), ""));
    EXPECT_EQ(here.to_client, handshake_failure) << piece;
    EXPECT_EQ(here.to_server, "") << piece;
    EXPECT_EQ(here.heard, "alert ; ") << piece;
  }
}

TEST_P(Relay, HasNoHandshakeFaultWhereNoHandshakeBegins) {
  for (const std::string_view bytes : {not_a_hello, std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                                       client_hello.substr(0, 3), std::string_view("HELLO")}) {
    for (const std::size_t piece : {1, 100}) {
      relayed here("alert 100%\ncertificate 100%");
      here.piece_bytes = piece;
      here.client_ends = true;
      run(here.run(std::string(bytes), "220 welcome"));
      EXPECT_EQ(here.to_server, bytes);
      EXPECT_EQ(here.to_client, "220 welcome");
      EXPECT_EQ(here.heard, "");
    }
  }
}

std::string frames() {
  std::string all = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  while (all.size() < 100'000) all += frame_of(frame_type::data, 1, net::pattern(100, 1));
  return all;
}

TEST_P(Relay, CutsAConnectionAtAByteAndBothSidesGetAnEnd) {
  for (const std::string& all : {net::pattern(100'000, 1), frames()}) {
    std::string first;
    for (const std::size_t piece : {7, 1000, 1 << 20}) {
      relayed here("truncate 5KB");
      here.piece_bytes = piece;
      run(here.run(all, ""));
      EXPECT_THAT(all, StartsWith(here.to_server));
      EXPECT_FALSE(here.to_server.empty());
      EXPECT_LT(here.to_server.size(), all.size());
      EXPECT_EQ(here.to_client, "");
      EXPECT_EQ(here.heard,
                "truncate after " + std::to_string(here.to_server.size()) + " bytes to the server; ");
      if (first.empty()) first = here.to_server;
      EXPECT_EQ(here.to_server, first) << "however the bytes arrive";
    }
  }
}

TEST_P(Relay, CutsTheOtherDirectionToo) {
  const std::string all = net::pattern(100'000, 2);
  relayed here("truncate 5KB\nslow 100KB");
  run(here.run("", all));
  EXPECT_THAT(all, StartsWith(here.to_client));
  EXPECT_LT(here.to_client.size(), all.size());
  EXPECT_EQ(here.to_server, "");
  EXPECT_EQ(here.heard, "truncate after " + std::to_string(here.to_client.size()) + " bytes to the client; ");
}

}  // namespace
}  // namespace coracle::tools::chaos::chaos_relay_test
