#include "coracle/net/udp_socket.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::net::udp_socket_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::all_kinds;

class Udp : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Udp, all_kinds, Udp::case_name);

udp_socket bound(address at = address::loopback_v4(0)) { return udp_socket::bind(at).value(); }

// The text and its sender; or the message of the status.
class datagram {
 public:
  explicit datagram(std::string t, address a = {}) : text(std::move(t)), from(std::move(a)) {}
  std::string text;
  address from;
};

task<datagram> receive(udp_socket& s, std::size_t room = 2000) {
  std::vector<std::uint8_t> buffer(room);
  const result<received_datagram> got = co_await s.receive_from(buffer);
  if (!got) co_return datagram(got.status().to_string());
  co_return datagram(std::string(as_text(bytes_view(buffer).first(got->size()))), got->sender());
}

task<status> say(udp_socket& s, std::string text, address to) {
  co_return co_await s.send_to(as_bytes(text), to);
}

task<> there_and_back(address at) {
  udp_socket a = bound(at);
  udp_socket b = bound(at);
  EXPECT_NE(a.local_address().port(), 0);
  const status sent = co_await say(a, "ping", b.local_address());
  EXPECT_TRUE(sent.ok()) << sent;
  const datagram ping = co_await receive(b);
  EXPECT_EQ(ping.text, "ping");
  EXPECT_EQ(ping.from, a.local_address());
  const status answered = co_await say(b, "pong", ping.from);
  EXPECT_TRUE(answered.ok()) << answered;
  const datagram pong = co_await receive(a);
  EXPECT_EQ(pong.text, "pong");
  EXPECT_EQ(pong.from, b.local_address());
}
TEST_P(Udp, GoesThereAndBackOverIpv4) { run(there_and_back(address::loopback_v4(0))); }

task<status> bind_to(address at) { co_return udp_socket::bind(at).status(); }
TEST_P(Udp, GoesThereAndBackOverIpv6) {
  const status ipv6_failure = run(bind_to(address::loopback_v6(0)));
  if (!ipv6_failure.ok()) GTEST_SKIP() << "no IPv6 here: " << ipv6_failure;
  run(there_and_back(address::loopback_v6(0)));
}

task<> keeps_datagrams_apart() {
  udp_socket a = bound();
  udp_socket b = bound();
  for (const char* text : {"one", "", "three"}) {
    const status sent = co_await say(a, text, b.local_address());
    EXPECT_TRUE(sent.ok()) << sent;
  }
  for (const char* text : {"one", "", "three"}) {
    const datagram next = co_await receive(b);
    EXPECT_EQ(next.text, text);
    EXPECT_EQ(next.from, a.local_address());
  }
}
TEST_P(Udp, KeepsDatagramsApartAndTheEmptyOneIsOne) { run(keeps_datagrams_apart()); }

task<> larger_than_the_buffer() {
  udp_socket a = bound();
  udp_socket b = bound();
  (void)co_await say(a, std::string(1000, 'x'), b.local_address());
  (void)co_await say(a, std::string(100, 'y'), b.local_address());
  const datagram cut = co_await receive(b, 100);
  EXPECT_THAT(cut.text, HasSubstr("RESOURCE_EXHAUSTED: a datagram of 1000 bytes from " +
                                  a.local_address().to_string() + " was dropped"));
  const datagram fits = co_await receive(b, 100);
  EXPECT_EQ(fits.text, std::string(100, 'y'));
}
TEST_P(Udp, ADatagramLargerThanTheBufferIsToldOf) { run(larger_than_the_buffer()); }

task<> too_large_to_send() {
  udp_socket a = bound();
  udp_socket b = bound();
  const status largest = co_await say(a, std::string(65'507, 'x'), b.local_address());
  EXPECT_TRUE(largest.ok()) << largest;
  const datagram got = co_await receive(b, 70'000);
  EXPECT_EQ(got.text.size(), 65'507u);
  const status refused = co_await say(a, std::string(65'508, 'x'), b.local_address());
  EXPECT_EQ(refused.code(), status_code::invalid_argument) << refused;
}
TEST_P(Udp, SixtyFourKilobytesAreTheMost) { run(too_large_to_send()); }

task<> fixed_peer() {
  udp_socket a = bound();
  udp_socket b = bound();
  udp_socket stranger = bound();
  const status unknown = co_await a.send(as_bytes("to whom?"));
  EXPECT_EQ(unknown.code(), status_code::invalid_argument) << unknown;
  const status fixed = a.connect(b.local_address());
  EXPECT_TRUE(fixed.ok()) << fixed;
  (void)co_await say(stranger, "psst", a.local_address());
  (void)co_await say(b, "hello", a.local_address());
  const datagram first = co_await receive(a);
  EXPECT_EQ(first.text, "hello") << "a stranger's datagram is passed over";
  const status sent = co_await a.send(as_bytes("you too"));
  EXPECT_TRUE(sent.ok()) << sent;
  const datagram answer = co_await receive(b);
  EXPECT_EQ(answer.text, "you too");
}
TEST_P(Udp, AFixedPeerIsTheOnlyOne) { run(fixed_peer()); }

task<> nobody_there() {
  udp_socket a = bound();
  udp_socket gone = bound();
  const address at = gone.local_address();
  gone.close();
  EXPECT_FALSE(gone.is_open());
  const status lost = co_await say(a, "anybody?", at);
  EXPECT_TRUE(lost.ok()) << "without a fixed peer nobody tells";
  const status fixed = a.connect(at);
  EXPECT_TRUE(fixed.ok());
  const status sent = co_await a.send(as_bytes("anybody?"));
  EXPECT_TRUE(sent.ok());
  const datagram refused = co_await receive(a);
  EXPECT_THAT(refused.text, HasSubstr("UNAVAILABLE")) << refused.text;
}
TEST_P(Udp, AFixedPeerThatIsNotThereIsToldOf) { run(nobody_there()); }

task<> wrong_addresses() {
  const status unix_name = udp_socket::bind(address::abstract("x").value()).status();
  EXPECT_EQ(unix_name.code(), status_code::invalid_argument);
  const status foreign = udp_socket::bind(address::ipv4({192, 0, 2, 1}, 0)).status();
  EXPECT_EQ(foreign.code(), status_code::invalid_argument);
  udp_socket a = bound();
  const status taken = udp_socket::bind(a.local_address()).status();
  EXPECT_EQ(taken.code(), status_code::already_exists) << taken;
  const status none = co_await say(a, "x", address());
  EXPECT_EQ(none.code(), status_code::invalid_argument);
}
TEST_P(Udp, AddressesThatDoNotFitAreRefused) { run(wrong_addresses()); }

task<> shares_its_port() {
  const result<udp_socket> first = udp_socket::bind(address::loopback_v4(0), udp_options{.reuse_port = true});
  EXPECT_TRUE(first.ok());
  const address at = first->local_address();
  const status second = udp_socket::bind(at, udp_options{.reuse_port = true}).status();
  EXPECT_TRUE(second.ok()) << second;
  co_return;
}
TEST_P(Udp, SocketsShareAPortWhenBothSaySo) { run(shares_its_port()); }

task<> note(udp_socket& s, std::string& outcome) { outcome = (co_await receive(s)).text; }

task<> stop_a_receive() {
  udp_socket a = bound();
  udp_socket b = bound();
  std::string outcome;
  scope receiving;
  receiving.spawn(note(b, outcome));
  co_await sleep_for(1ms);  // sleeps on purpose: the receive reaches the kernel
  receiving.request_stop();
  co_await receiving.join();
  EXPECT_THAT(outcome, HasSubstr("CANCELLED"));

  scope stopped_before;
  stopped_before.request_stop();
  stopped_before.spawn(note(b, outcome));
  co_await stopped_before.join();
  EXPECT_THAT(outcome, HasSubstr("CANCELLED"));

  (void)co_await say(a, "still here", b.local_address());
  const datagram next = co_await receive(b);
  EXPECT_EQ(next.text, "still here");
}
TEST_P(Udp, AStopEndsAReceiveAndTakesNothing) { run(stop_a_receive()); }

task<> deadline_of_a_receive() {
  udp_socket b = bound();
  std::vector<std::uint8_t> buffer(100);
  const auto outcome = co_await with_timeout(2ms, b.receive_from(buffer));
  EXPECT_EQ(outcome.status().code(), status_code::deadline_exceeded);
}
TEST_P(Udp, ADeadlineEndsAReceive) { run(deadline_of_a_receive()); }

// Stops a receive at the moment when its datagram arrives: that receive returns it, or the next one does.
task<> race_a_stop() {
  udp_socket a = bound();
  udp_socket b = bound();
  for (int i = 0; i < 300; ++i) {
    std::string outcome;
    scope receiving;
    receiving.spawn(note(b, outcome));
    const status sent = co_await say(a, std::to_string(i), b.local_address());
    EXPECT_TRUE(sent.ok());
    receiving.request_stop();
    co_await receiving.join();
    if (outcome != std::to_string(i)) {
      EXPECT_THAT(outcome, HasSubstr("CANCELLED"));
      const datagram next = co_await receive(b);
      EXPECT_EQ(next.text, std::to_string(i));
    }
  }
}
TEST_P(Udp, AStopThatRacesWithADatagramLosesNone) { run(race_a_stop()); }

task<> answer_all(udp_socket& s, int count) {
  for (int i = 0; i < count; ++i) {
    const datagram question = co_await receive(s);
    const status sent = co_await say(s, question.text, question.from);
    EXPECT_TRUE(sent.ok());
  }
}
task<> ask_all(udp_socket& s, address where, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string text = std::to_string(i);
    const status sent = co_await say(s, text, where);
    EXPECT_TRUE(sent.ok());
    const datagram answer = co_await receive(s);
    EXPECT_EQ(answer.text, text);
  }
}
task<> many_clients() {
  udp_socket server = bound();
  udp_socket one = bound();
  udp_socket two = bound();
  co_await when_all(answer_all(server, 1000), ask_all(one, server.local_address(), 500),
                    ask_all(two, server.local_address(), 500));
}
TEST_P(Udp, OneSocketAnswersManyClients) { run(many_clients()); }

task<> two_receives() {
  udp_socket s = bound();
  co_await when_any(receive(s), receive(s));
}
TEST(UdpDefect, TwoReceivesAtATimeThrow) {
  runtime rt(runtime_options{.backend = backend_choice::epoll});
  test::expect_misuse([&] { sync_wait(rt, two_receives()); },
                      "concurrent receives on one udp_socket: await one receive before the next");
}

task<> ask_other_host(address server, std::string& answer, time_point& answered) {
  udp_socket s = udp_socket::bind(address::ipv4({0, 0, 0, 0}, 0)).value();
  (void)co_await say(s, "over the wire", server);
  answer = (co_await receive(s)).text;
  answered = coro::this_executor().now();
}
task<> answer_on(std::uint16_t port) {
  udp_socket s = udp_socket::bind(address::ipv4({0, 0, 0, 0}, port)).value();
  co_await answer_all(s, 1);
}
TEST(UdpBetweenSimulatedHosts, TakesTheLinksLatency) {
  sim::world world(1, sim::world_options{.latency = 10ms});
  runtime& server = world.host("server");
  runtime& client = world.host("client");
  server.spawn(answer_on(53));
  const address at = address::parse(world.address_of("server") + ":53").value();
  std::string answer;
  time_point answered{};
  const time_point began = world.now();
  client.spawn(ask_other_host(at, answer, answered));
  world.run();
  EXPECT_EQ(answer, "over the wire");
  EXPECT_EQ(answered - began, 20ms);
}

}  // namespace
}  // namespace coracle::net::udp_socket_test
