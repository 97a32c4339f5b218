// A connection over one end of a byte stream in memory; the test is the peer at the other end.
#include "transport/exchange.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/memory_duplex.hpp"
#include "unit/transport/raw_peer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace coracle::transport::connection_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct keeper final : connection_owner, request_acceptor {
  std::unique_ptr<connection> kept;
  int went_away = 0;
  bool too_many_pings = false;
  std::string end_reason;
  void on_going_away(connection& c) noexcept override {
    ++went_away;
    too_many_pings = c.sent_too_many_pings();
    end_reason = c.end_reason();
  }
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange x, header_source&, bool) noexcept override { x.release(); }
};

struct no_handler final : exchange_handler {
  exchange x;
  void on_headers(header_source&, block_kind, bool) noexcept override {}
  void on_data(bytes_view, bool) noexcept override {}
  void on_writable() noexcept override {}
  void on_reset(const abnormal_end&) noexcept override { x.release(); }
};

class a_connection : public testing::Test {
 protected:
  void run(task<> t) { sync_wait(host_, host_.at(0), std::move(t)); }
  sim::world world_{1};
  runtime& host_ = world_.host("host", 1);
};

TEST_F(a_connection, OfAServerIsClosedWhenItsPeerHasEndedTooSoThatNothingIsLost) {
  struct program {
    static task<> drain() {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      keeper k;
      k.kept = std::make_unique<connection>(here, std::move(ours), role::server, connection_options{}, k, &k);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      peer.send(client_hello);
      co_await sleep_for(1ms);
      k.kept->close(error_code::no_error, "enough");
      co_await sleep_for(1s);
      EXPECT_TRUE(peer.ended);
      EXPECT_TRUE(k.kept);
      peer.send(settings_ack);  // on its way when our end comes
      co_await sleep_for(1ms);
      EXPECT_EQ(peer.last_sent, static_cast<std::int64_t>(settings_ack.size()));
      peer.close();
      co_await sleep_for(1ms);
      EXPECT_FALSE(k.kept);
    }
  };
  run(program::drain());
}

TEST_F(a_connection, OfAServerWaitsOnlyALittleForAPeerThatDoesNotEnd) {
  struct program {
    static task<> drain() {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      keeper k;
      k.kept = std::make_unique<connection>(here, std::move(ours), role::server, connection_options{}, k, &k);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      peer.send(client_hello);
      co_await sleep_for(1ms);
      k.kept->close(error_code::no_error, "enough");
      co_await sleep_for(3s);
      EXPECT_FALSE(k.kept);
      peer.close();
      co_await sleep_for(1ms);
    }
  };
  run(program::drain());
}

TEST_F(a_connection, OfAClientGoesAwayWithItsLastStreamId) {
  struct program {
    static task<> use_up() {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      connection_options few;
      few.http2.own_streams = 2;
      keeper k;
      k.kept = std::make_unique<connection>(here, std::move(ours), role::client, few, k, nullptr);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      peer.send(settings + settings_ack);
      co_await sleep_for(1ms);
      no_handler first;
      no_handler second;
      first.x = k.kept->open(first);
      EXPECT_EQ(k.went_away, 0);
      second.x = k.kept->open(second);
      EXPECT_TRUE(first.x && second.x);
      EXPECT_EQ(k.went_away, 1);
      no_handler third;
      EXPECT_FALSE(k.kept->open(third));
      first.x.release();
      co_await sleep_for(1ms);
      EXPECT_TRUE(k.kept);
      second.x.release();
      co_await sleep_for(1ms);
      EXPECT_FALSE(k.kept);
      peer.close();
      co_await sleep_for(1ms);
    }
  };
  run(program::use_up());
}

// A server's connection whose client sends its preface, keeps its side open, and replies to nothing.
struct served {
  explicit served(const connection_options& o, std::string hello = client_hello) {
    loop& here = *loop::current();
    auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
    k.kept = std::make_unique<connection>(here, std::move(ours), role::server, o, k, &k);
    k.kept->start();
    peer.emplace(std::move(theirs));
    peer->send(std::move(hello));
  }
  // Returns how long the connection stays open.
  static task<duration> life(connection_options o, std::string hello) {
    served s(o, std::move(hello));
    const time_point began = loop::current()->now();
    while (!s.peer->ended && loop::current()->now() - began < 100h) co_await sleep_for(100ms);
    const duration took = loop::current()->now() - began;
    s.peer->close();
    co_await sleep_for(3s);
    EXPECT_FALSE(s.k.kept);
    co_return took;
  }
  keeper k;
  std::optional<raw_peer> peer;
};

TEST_F(a_connection, WithoutExchangesIsDrainedWhenItHasBeenIdleForSoLong) {
  connection_options o;
  o.age.max_idle = 1h;
  const duration took = sync_wait(host_, host_.at(0), served::life(o, client_hello));
  EXPECT_GE(took, 1h);
  EXPECT_LT(took, 1h + 10s) << "the client does not answer the drain's PING";
}

TEST_F(a_connection, OfACertainAgeIsDrainedAndAfterAGraceClosed) {
  connection_options o;
  o.age.max_age = 1h;
  const duration drained = sync_wait(host_, host_.at(0), served::life(o, client_hello));
  EXPECT_GE(drained, 1h);
  EXPECT_LT(drained, 1h + 10s);
  o.age.max_age_grace = 1s;
  const duration closed = sync_wait(host_, host_.at(0), served::life(o, client_hello));
  EXPECT_GE(closed, 1h + 1s);
  EXPECT_LT(closed, 1h + 2s);
}

TEST_F(a_connection, WhosePeerAnswersNoKeepaliveIsClosed) {
  connection_options o;
  o.http2.keepalive.time = 1h;
  o.http2.keepalive.timeout = 20s;
  o.http2.keepalive.without_calls = true;
  const duration took = sync_wait(host_, host_.at(0), served::life(o, client_hello));
  EXPECT_GE(took, 1h + 20s);
  EXPECT_LT(took, 1h + 21s);
}

TEST_F(a_connection, WhosePeerSaysNothingOrHalfAPrefaceIsClosedInTime) {
  for (const std::string& content :
       {std::string("P"), client_hello.substr(0, 20), client_hello.substr(0, 30)}) {
    const duration took = sync_wait(host_, host_.at(0), served::life({}, content));
    EXPECT_GE(took, 20s);
    EXPECT_LT(took, 21s);
  }
}

TEST_F(a_connection, WhosePeerHasSaidNothingIsDrainedInTime) {
  struct program {
    static task<> drain(std::string content) {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      keeper k;
      k.kept = std::make_unique<connection>(here, std::move(ours), role::server, connection_options{}, k, &k);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      k.kept->drain();
      co_await sleep_for(1s);
      EXPECT_EQ(peer.bytes_received, "") << "before its preface a client is told nothing";
      EXPECT_FALSE(peer.ended);
      if (!content.empty()) peer.send(content);
      co_await sleep_for(5s);
      EXPECT_TRUE(peer.ended);
      peer.close();
      co_await sleep_for(1ms);
      EXPECT_FALSE(k.kept);
    }
  };
  run(program::drain(""));
  run(program::drain("GET / HTTP/1.1\r\n\r\n"));
}

TEST_F(a_connection, OfAClientSaysThatItsPingsWereTooMany) {
  struct program {
    static task<> ask(std::string debug, bool expected) {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      keeper k;
      k.kept =
          std::make_unique<connection>(here, std::move(ours), role::client, connection_options{}, k, nullptr);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      peer.send(settings + settings_ack + "\0\0"s + static_cast<char>(8 + debug.size()) +
                "\7\0\0\0\0\0\0\0\0\0\0\0\0\x0b"s + debug);
      co_await sleep_for(1ms);
      EXPECT_EQ(k.went_away, 1);
      EXPECT_EQ(k.too_many_pings, expected);
      peer.close();
      co_await sleep_for(1ms);
    }
  };
  run(program::ask("too_many_pings", true));
  run(program::ask("enough", false));
}

TEST_F(a_connection, SaysWhyItsPeerWentAwayInOneShortLine) {
  struct program {
    static task<> go() {
      loop& here = *loop::current();
      auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
      keeper k;
      k.kept =
          std::make_unique<connection>(here, std::move(ours), role::client, connection_options{}, k, nullptr);
      k.kept->start();
      raw_peer peer(std::move(theirs));
      const std::string debug = std::string("no\r\nERROR: forged").append(16'000, 'x');
      const std::size_t size = 8 + debug.size();
      peer.send(settings + settings_ack + '\0' + static_cast<char>(size >> 8) + static_cast<char>(size) +
                "\7\0\0\0\0\0\0\0\0\0\0\0\0\x0b"s + debug);
      co_await sleep_for(1ms);
      EXPECT_EQ(k.went_away, 1);
      const std::string reason(k.end_reason);
      EXPECT_NE(reason.find("ENHANCE_YOUR_CALM no??ERROR: forgedxxx"), std::string::npos) << reason;
      EXPECT_LT(reason.size(), 300u);
      peer.close();
      co_await sleep_for(1ms);
    }
  };
  run(program::go());
}

}  // namespace
}  // namespace coracle::transport::connection_test
