// A server's connection whose peer does not read its replies: which calls wait for a turn, and which get it.
#include "transport/exchange.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/memory_duplex.hpp"
#include "support/http2/frames.hpp"
#include "transport/header_block.hpp"
#include "unit/transport/raw_peer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::transport::congestion_test {
namespace {

using namespace std::chrono_literals;
namespace frames = http2::test::frames;

constexpr std::size_t reply_bytes = 2'000;

using numbers = std::vector<int>;

// Replies immediately, or when its turn comes; the call with the number `gives_up` then ends without a reply.
struct waiting_call final : exchange_handler {
  waiting_call(exchange of, int its_number, numbers& turns, int gives_up)
      : x(of), number(its_number), turns_(turns), gives_up_(gives_up) {
    x.set_handler(this);
    if (x.congested()) x.wait_until_uncongested();
    else answer();
  }
  void answer() {
    header_block head;
    head.add(":status", "200");
    x.send_block(head.bytes(), false);
    x.queue_data(std::make_unique<std::uint8_t[]>(reply_bytes), reply_bytes, true);
    x.release();
  }
  void on_headers(header_source&, block_kind, bool) noexcept override {}
  void on_data(bytes_view, bool) noexcept override {}
  void on_writable() noexcept override {}
  void on_uncongested() noexcept override {
    turns_.push_back(number);
    if (number != gives_up_) return answer();
    x.reset(error_code::cancel);
    x.release();
  }
  void on_reset(const abnormal_end&) noexcept override { x.release(); }

  exchange x;
  const int number;

 private:
  numbers& turns_;
  const int gives_up_;
};

// A server whose peer grants no window: one unread reply fills its output.
struct full_server final : connection_owner, request_acceptor {
  explicit full_server(int gives_up) : gives_up_(gives_up) {
    loop& here = *loop::current();
    auto [ours, theirs] = net::make_memory_duplex_pair(here, here);
    connection_options o;
    o.backpressure.unread_bytes = reply_bytes / 2;
    kept = std::make_unique<connection>(here, std::move(ours), role::server, o, *this, this);
    kept->start();
    peer = std::make_unique<raw_peer>(std::move(theirs));
  }
  // Lets the server take its turn.
  task<> hear(std::string bytes) {
    peer->send(std::move(bytes));
    co_await sleep_for(1ms);
  }
  task<> close() {
    peer->close();
    co_await sleep_for(1ms);
    EXPECT_FALSE(kept);
  }
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange x, header_source& fields, bool) noexcept override {
    field f;
    while (fields.next(f)) {
    }
    const int number = 1 + 2 * static_cast<int>(calls.size());
    calls.push_back(std::make_unique<waiting_call>(x, number, turns, gives_up_));
  }

  std::unique_ptr<connection> kept;
  std::unique_ptr<raw_peer> peer;
  std::vector<std::unique_ptr<waiting_call>> calls;
  numbers turns;

 private:
  const int gives_up_;
};

std::string hello() {
  constexpr unsigned initial_window = 4;
  return std::string(http2::client_preface) + frames::settings({{initial_window, 0}}) +
         frames::settings_ack();
}

std::string request(http2::stream_id id) {
  return frames::headers(id, frames::block({{":method", "POST"}, {":scheme", "http"}, {":path", "/a/b"}}),
                         http2::flag::end_headers | http2::flag::end_stream);
}

std::string room_for(http2::stream_id id) { return frames::window_update(id, reply_bytes); }

class a_full_connection : public testing::Test {
 protected:
  void run(task<> t) { sync_wait(host_, host_.at(0), std::move(t)); }
  sim::world world_{1};
  runtime& host_ = world_.host("host", 1);
};

task<> one_by_one() {
  full_server s(0);
  co_await s.hear(hello() + request(1) + request(3) + request(5) + request(7));
  EXPECT_EQ(s.turns, numbers{}) << "the first was answered at once, and fills the connection";
  co_await s.hear(room_for(1));
  EXPECT_EQ(s.turns, numbers{3}) << "whose reply fills it again";
  co_await s.hear(room_for(3));
  EXPECT_EQ(s.turns, (numbers{3, 5}));
  co_await s.close();
}
TEST_F(a_full_connection, LetsThoseThatWaitBeginOneByOne) { run(one_by_one()); }

// The memory slot of a stream is reused.
task<> cancelled() {
  full_server s(0);
  co_await s.hear(hello() + request(1) + request(3) + request(5));
  co_await s.hear(frames::rst_stream(3, error_code::cancel) + request(7));
  co_await s.hear(room_for(1));
  EXPECT_EQ(s.turns, numbers{5});
  co_await s.hear(room_for(5));
  EXPECT_EQ(s.turns, (numbers{5, 7}));
  co_await s.close();
}
TEST_F(a_full_connection, GivesThePlaceOfOneThatWasCancelledToNobody) { run(cancelled()); }

task<> ended_in_its_turn() {
  full_server s(3);
  co_await s.hear(hello() + request(1) + request(3) + request(5) + request(7));
  co_await s.hear(room_for(1));
  EXPECT_EQ(s.turns, (numbers{3, 5})) << "the third left its turn unused";
  co_await s.hear(room_for(5));
  EXPECT_EQ(s.turns, (numbers{3, 5, 7}));
  co_await s.close();
}
TEST_F(a_full_connection, LeavesNobodyOutWhenOneEndsInItsTurn) { run(ended_in_its_turn()); }

}  // namespace
}  // namespace coracle::transport::congestion_test
