// The relay of coracle chaos between a client and a server: how connections end whose handshake or whose
// bytes have a fault.
#include "tools/chaos/relay.hpp"
#include "tools/chaos/tls_record.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"
#include "unit/tools/chaos_tls_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools::chaos::chaos_relay_test {
namespace {

using namespace std::chrono_literals;
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
  std::string client_waits_for;  // before it sends anything

  std::string to_server, to_client;  // what arrives
  std::string heard;

  task<> run(std::string of_client, std::string of_server) {
    net::stream_pair front = co_await net::connected_pair();
    net::stream_pair back = co_await net::connected_pair();
    fault_plan plan(faults_, 1, 1, duration{});
    relay between(std::move(front.server), std::move(back.client), std::move(plan), &authority_,
                  loop::current()->now(), [this](fault_kind k, std::string_view what) {
                    heard.append(name_of(k)).append(" ").append(what).append("; ");
                  });
    co_await when_all(between.run(),
                      talk(front.client, client_waits_for, of_client, piece_bytes, client_ends, to_client),
                      talk(back.server, "", of_server, 1 << 20, false, to_server));
  }

 private:
  // Sends, and closes once the other side has.
  static task<> talk(net::stream& s, std::string_view first, std::string_view bytes, std::size_t piece,
                     bool ends, std::string& got) {
    got = co_await net::read_text(s, first.size());
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), piece))) {
      const status sent = co_await net::write_text(s, bytes.substr(0, piece));
      EXPECT_TRUE(sent.ok()) << sent;
    }
    if (ends) s.shutdown_send();
    got += co_await net::read_text(s, 1 << 20);
    s.close();
  }

  const std::vector<fault> faults_;
  const impostor_authority authority_;
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

// It does not speak TLS, whatever its client sends.
TEST_P(Relay, HasNoHandshakeFaultWhereTheServerSpeaksFirst) {
  for (const std::string_view script : {"alert 100%", "certificate 100%"}) {
    relayed here(script);
    here.client_ends = true;
    here.client_waits_for = "220 welcome";
    run(here.run(std::string(client_hello), "220 welcome"));
    EXPECT_EQ(here.to_server, client_hello);
    EXPECT_EQ(here.to_client, "220 welcome");
    EXPECT_EQ(here.heard, "");
  }
}

enum class leaving { speaks, closes, resets };
enum class moment { before_the_client_speaks, within_the_handshake };

// A client of TLS that meets an impostor, and a server that has something to say, or leaves.
class impersonated {
 public:
  explicit impersonated(std::string_view script) : faults_(parse_script(script, "test")) {}
  moment when = moment::within_the_handshake;
  leaving how = leaving::closes;
  bool verifies = false;

  std::string heard;
  std::string to_server;
  bool has_got_an_end = false;  // the client, within its handshake

  task<> run() {
    net::stream_pair front = co_await net::connected_pair();
    net::stream_pair back = co_await net::connected_pair();
    fault_plan plan(faults_, 1, 1, duration{});
    relay between(std::move(front.server), std::move(back.client), std::move(plan), &authority_,
                  loop::current()->now(), [this](fault_kind k, std::string_view what) {
                    heard.append(name_of(k)).append(" ").append(what).append("; ");
                  });
    co_await when_all(between.run(), call(front.client), serve(back.server));
  }

 private:
  task<> call(net::stream& s) {
    if (when == moment::before_the_client_speaks) co_await server_left_;
    // Of this version, the client waits for the impostor twice.
    tls_client one(verifies, "localhost", TLS1_2_VERSION);
    std::array<std::uint8_t, 16 * 1024> bytes;
    while (true) {
      const std::string sent = one.shake_hands();
      if (!sent.empty()) co_await send(s, sent);
      if (one.has_failed() || one.is_connected()) break;
      const result<std::size_t> got = co_await s.read(bytes);
      has_got_an_end = !got.ok() || *got == 0;
      if (has_got_an_end) break;
      greeted_.set();
      co_await server_left_;
      one.get(std::string_view(reinterpret_cast<const char*>(bytes.data()), *got));
    }
    const std::string data = one.is_connected() ? one.say("PRI") : "";
    if (!data.empty()) co_await send(s, data);
    else s.shutdown_send();
    if (!has_got_an_end) static_cast<void>(co_await net::read_text(s, 1 << 20));
    greeted_.set();
    s.close();
  }
  task<> serve(net::stream& s) {
    if (when == moment::within_the_handshake) co_await greeted_;
    if (how == leaving::speaks) co_await send(s, handshake_failure);
    else if (how == leaving::closes) s.shutdown_send();
    else s.close(true);
    // The relay has learned of it by then. If it has not, the client meets the same.
    co_await sleep_for(20ms);
    server_left_.set();
    if (how == leaving::resets) co_return;
    to_server = co_await net::read_text(s, 1 << 20);
    s.close();
  }

  static task<> send(net::stream& s, std::string_view bytes) {
    const status sent = co_await net::write_text(s, bytes);
    EXPECT_TRUE(sent.ok()) << sent;
  }

  const std::vector<fault> faults_;
  const impostor_authority authority_;
  event<> greeted_;  // the client has bytes of the impostor
  event<> server_left_;
};

TEST_P(Relay, AClientOfAnImpostorGetsNothingOfTheServer) {
  for (const leaving how : {leaving::speaks, leaving::closes, leaving::resets}) {
    impersonated here("certificate 100%");
    here.how = how;
    run(here.run());
    EXPECT_FALSE(here.has_got_an_end);
    EXPECT_THAT(here.heard, StartsWith("certificate ACCEPTED: ")) << static_cast<int>(how);
    EXPECT_EQ(here.to_server, "");
  }
}

TEST_P(Relay, AServerThatLeavesFirstLeavesTheClientToTheImpostor) {
  for (const leaving how : {leaving::closes, leaving::resets}) {
    for (const bool verifies : {false, true}) {
      impersonated here("certificate 100%");
      here.when = moment::before_the_client_speaks;
      here.how = how;
      here.verifies = verifies;
      run(here.run());
      EXPECT_FALSE(here.has_got_an_end);
      EXPECT_THAT(here.heard,
                  StartsWith(verifies ? "certificate refused: unknown CA; " : "certificate ACCEPTED: "))
          << static_cast<int>(how);
    }
  }
}

TEST_P(Relay, AServerThatLeavesFirstLeavesTheClientToTheAlert) {
  impersonated here("alert 100%");
  here.when = moment::before_the_client_speaks;
  run(here.run());
  EXPECT_FALSE(here.has_got_an_end) << "before the alert";
  EXPECT_EQ(here.heard, "alert ; ");
}

// Without the clock of the machine.
class SimulatedRelay : public Relay {};
INSTANTIATE_TEST_SUITE_P(On, SimulatedRelay, ::testing::Values(testing_support::world_kind::sim),
                         Relay::case_name);

TEST_P(SimulatedRelay, ACertificateThatIsOnItsWayHasNotBeenSeen) {
  for (const bool arrives : {false, true}) {
    relayed here(arrives ? "certificate 100%" : "certificate 100%\ndelay 5s");
    here.client_ends = true;
    run(here.run(tls_client(true, "localhost", TLS1_3_VERSION).shake_hands(), ""));
    EXPECT_EQ(here.heard, std::string("certificate ") + (arrives ? "refused" : "not seen") +
                              ": the client closed the connection; ");
  }
}

}  // namespace
}  // namespace coracle::tools::chaos::chaos_relay_test
