// A connection over one end of a byte stream in memory; the test is the peer at the other.
#include "transport/connection.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/memory_duplex.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace coracle::transport {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string settings = "\0\0\0\4\0\0\0\0\0"s;
const std::string settings_ack = "\0\0\0\4\1\0\0\0\0"s;
const std::string client_hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + settings_ack;

class raw_peer final : net::duplex_sink {
 public:
  explicit raw_peer(std::unique_ptr<net::duplex> d) : stream_(std::move(d)) { stream_->start(*this); }
  void send(std::string bytes) {
    bytes_ = std::move(bytes);
    stream_->send(as_bytes(bytes_));
  }
  void close() { stream_->close(); }
  std::int64_t last_sent = 1;  // 1: nothing yet
  bool ended = false;

 private:
  void received(bytes_view) noexcept override {}
  void receive_ended(std::int64_t) noexcept override { ended = true; }
  void sent(std::int64_t result) noexcept override { last_sent = result; }
  void closed() noexcept override {}
  std::unique_ptr<net::duplex> stream_;
  std::string bytes_;
};

struct keeper final : connection_owner, request_acceptor {
  std::unique_ptr<connection> kept;
  int went_away = 0;
  void on_going_away(connection&) noexcept override { ++went_away; }
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
      k.kept = std::make_unique<connection>(here, std::move(ours), role::server, limits{}, k, &k);
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
      k.kept = std::make_unique<connection>(here, std::move(ours), role::server, limits{}, k, &k);
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
      limits few;
      few.own_streams = 2;
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

}  // namespace
}  // namespace coracle::transport
