// A duplex with TLS keeps the contract of net/duplex.hpp (which the recorders check), whatever happens and
// whenever.
#include "tls/secured_duplex.hpp"

#include "coracle/coro/yield.hpp"
#include "coracle/security/auth_context.hpp"
#include "tls/context.hpp"

#include "unit/tls/secured_ends.hpp"

#include <cerrno>
#include <cstdint>

namespace coracle::tls::secured_duplex_test {
namespace {

using namespace std::chrono_literals;

std::string pattern(std::size_t n) {
  std::string text(n, ' ');
  for (std::size_t i = 0; i < n; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

task<> hello() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  EXPECT_FALSE(e->client.line->auth());
  EXPECT_TRUE(e->client.send("hello"));  // waits for the handshake
  EXPECT_TRUE(e->client.line->sending());
  co_await e->server.until_size(5);
  EXPECT_EQ(e->server.text, "hello");
  co_await e->client.until_sent(1);
  EXPECT_EQ(e->client.sends, std::vector<std::int64_t>{5});
  EXPECT_TRUE(e->server.send("and back"));
  co_await e->client.until_size(8);
  EXPECT_EQ(e->client.text, "and back");
  const auth_context& seen = *e->client.line->auth();
  EXPECT_EQ(seen.type(), "tls");
  EXPECT_EQ(seen.protocol(), "TLSv1.3");
  EXPECT_EQ(seen.application_protocol(), "h2");
  EXPECT_TRUE(seen.peer_verified());
  EXPECT_TRUE(seen.has_identity(peer_identity::kind::dns_name, "movies.example"));
  EXPECT_TRUE(seen.has_identity(peer_identity::kind::ip_address, "::1"));
  EXPECT_TRUE(seen.has_identity(peer_identity::kind::common_name, "the server"));
  EXPECT_EQ(seen.peer_certificates_pem(), testing_support::certificates::made().text("server.pem"));
  EXPECT_EQ(e->server.line->auth()->server_name(), "localhost");
  EXPECT_FALSE(e->server.line->auth()->peer_verified());
  EXPECT_EQ(e->server.line->auth()->peer_certificates_pem(), "");
  co_await e->close();
}
TEST_F(a_secured_connection, CarriesBytesBothWaysAndKnowsItsPeer) { run(hello); }

task<> pieces() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  const std::string large = pattern(40'000);
  const net::duplex::piece all[] = {
      {"one ", 4}, {"", 0}, {"two", 3}, {large.data(), large.size()}, {"end", 3}};
  EXPECT_TRUE(e->server.line->send(all));
  co_await e->client.until_size(40'010);
  EXPECT_TRUE(e->client.text == "one two" + large + "end");
  EXPECT_EQ(e->server.sends.front(), 40'010);
  co_await e->close();
}
TEST_F(a_secured_connection, SendsPiecesInOrder) { run(pieces); }

// A raw duplex in the middle that counts the bytes in one direction.
task<> records() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  co_await e->close();
  // Ten small pieces of one iteration are one record.
  engine client(client_context::make(trusting("ca")).value()->connection(), false,
                loop::current()->wall_now());
  auto context = server_context::make(served_as("server")).value();
  engine server(context->connection(), true, loop::current()->wall_now());
  session_cache sessions;
  client.expect_server("localhost", sessions);
  const auto pass = [](engine& from, engine& to) {
    const std::string bytes(as_text(from.output().pending()));
    from.output().clear();
    to.feed(as_bytes(bytes));
    to.keep_unread();
  };
  engine::step c = engine::step::more;
  engine::step s = engine::step::more;
  for (int i = 0; i < 4 && !(c == engine::step::done && s == engine::step::done); ++i) {
    c = client.handshake();
    pass(client, server);
    s = server.handshake();
    pass(server, client);
  }
  EXPECT_EQ(c, engine::step::done) << client.failure();
  EXPECT_EQ(s, engine::step::done) << server.failure();
  const std::string text = pattern(30'000);
  EXPECT_TRUE(client.write(as_bytes(text)));
  constexpr std::size_t cost_of_a_record = 5 + 1 + 16;  // header, type, tag
  EXPECT_EQ(client.output().size(), text.size() + 2 * cost_of_a_record);
}
TEST_F(a_secured_connection, FillsRecordsOf16KiB) { run(records); }

task<> large(std::size_t buffer_bytes, std::size_t size) {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides, "localhost", buffer_bytes);
  const std::string there = pattern(size);
  const std::string back = pattern(size + 1).substr(1);
  EXPECT_TRUE(e->client.send(there));
  EXPECT_TRUE(e->server.send(back));
  co_await e->server.until_size(size);
  co_await e->client.until_size(size);
  EXPECT_TRUE(e->server.text == there);
  EXPECT_TRUE(e->client.text == back);
  co_await e->client.until_sent(1);
  EXPECT_EQ(e->client.sends.front(), static_cast<std::int64_t>(size));
  co_await e->close();
}
TEST_F(a_secured_connection, CarriesMegabytesBothWaysAtOnce) { run(large, 64 * 1024, 3'000'000); }
TEST_F(a_secured_connection, CarriesEverythingByteByByte) { run(large, 1, 20'000); }
TEST_F(a_secured_connection, CarriesEverythingThroughOddBuffers) { run(large, 4'097, 300'000); }

task<> paused() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  const std::string text = pattern(500'000);
  e->server.on_received = [&] { e->server.pause(); };
  EXPECT_TRUE(e->client.send(text));
  while (e->server.text.size() < text.size()) {
    co_await e->server.until_size(e->server.text.size() + 1);
    co_await sleep_for(1ms);  // nothing may come: the recorder looks
    e->server.resume();
  }
  EXPECT_TRUE(e->server.text == text);
  co_await e->close();
}
TEST_F(a_secured_connection, DeliversNothingWhileItPauses) { run(paused); }

task<> half_closed() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  EXPECT_TRUE(e->client.send("last words"));
  e->client.line->shutdown_send();
  EXPECT_FALSE(e->client.send("too late"));
  co_await e->server.until_end();
  EXPECT_EQ(e->server.text, "last words");
  EXPECT_EQ(*e->server.end, 0);
  EXPECT_EQ(e->server.line->end_reason(), "");
  EXPECT_TRUE(e->server.send("the answer"));
  co_await e->client.until_size(10);
  e->server.line->shutdown_send();
  co_await e->client.until_end();
  EXPECT_EQ(*e->client.end, 0);
  co_await e->close();
}
TEST_F(a_secured_connection, EndsOneDirectionAtATime) { run(half_closed); }

// As transport::connection ends a client's connection: nothing waits until the notice is sent.
task<> notified() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  EXPECT_TRUE(e->client.send("hello"));
  co_await e->server.until_size(5);
  co_await e->client.until_sent(1);
  e->client.line->shutdown_send();
  co_await e->client.closed_down();
  co_await e->server.until_end();
  EXPECT_EQ(*e->server.end, 0);
  co_await e->close();
}
TEST_F(a_secured_connection, ClosesWithANotice) { run(notified); }

task<> aborted() {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides);
  EXPECT_TRUE(e->client.send("hello"));
  co_await e->server.until_size(5);
  co_await e->client.closed_down(true);
  co_await e->server.until_end();
  EXPECT_EQ(*e->server.end, -ECONNRESET);
  co_await e->close();
}
TEST_F(a_secured_connection, IsResetByAnAbort) { run(aborted); }

// Each side is closed after each number of iterations of the loop, during the handshake and during a
// transfer.
task<> closed_after(int steps, bool client_closes, bool abort) {
  two_sides sides(served_as("server"), trusting("ca"));
  auto e = connect(sides, "localhost", 500);
  const std::string text = pattern(5'000);
  e->client.send(text);
  e->server.send(text);
  for (int i = 0; i < steps; ++i) co_await yield();
  recorder& first = client_closes ? e->client : e->server;
  recorder& other = client_closes ? e->server : e->client;
  co_await first.closed_down(abort);
  EXPECT_EQ(first.sends.size(), 1U);
  co_await other.until_end();
  co_await other.closed_down();
  EXPECT_EQ(other.sends.size(), 1U);
}
TEST_F(a_secured_connection, IsClosedAtAnyPoint) {
  for (int steps = 0; steps < 60; ++steps) {
    for (const bool client : {false, true}) {
      for (const bool abort : {false, true}) run(closed_after, steps, client, abort);
    }
  }
}

task<> never_started() {
  two_sides sides(served_as("server"), trusting("ca"));
  loop& here = *loop::current();
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder raw(std::move(c));
  {
    const auto unused = sides.server->secure(here, std::move(s));
  }
  co_await raw.until_end();
  co_await raw.closed_down();
}
TEST_F(a_secured_connection, ThatWasNeverStartedIsDestroyed) { run(never_started); }

// Records its notifications, and is never started.
class noting_duplex final : public net::duplex {
 public:
  explicit noting_duplex(duration& observed) noexcept : told_(observed) {}
  void set_unacknowledged_timeout(duration after) noexcept override { told_ = after; }
  void start(net::duplex_sink&) override {}
  void pause_receive() noexcept override {}
  void resume_receive() noexcept override {}
  bool send(std::span<const piece>) noexcept override { return false; }
  [[nodiscard]] bool sending() const noexcept override { return false; }
  void shutdown_send() noexcept override {}
  void close(bool) noexcept override {}
  [[nodiscard]] const net::address& peer_address() const noexcept override { return nowhere_; }
  [[nodiscard]] const net::address& local_address() const noexcept override { return nowhere_; }

 private:
  duration& told_;
  net::address nowhere_;
};

task<> user_timeout() {
  two_sides sides(served_as("server"), trusting("ca"));
  duration observed{};
  const auto line =
      sides.client->secure(*loop::current(), std::make_unique<noting_duplex>(observed), "localhost");
  line->set_unacknowledged_timeout(7s);
  EXPECT_EQ(observed, 7s);
  co_return;
}
TEST_F(a_secured_connection, PassesItsUserTimeoutOnToTheSocket) { run(user_timeout); }

}  // namespace
}  // namespace coracle::tls::secured_duplex_test
