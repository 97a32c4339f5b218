// Bulk and small messages on one connection: how many bulk bytes are sent between the time when a small
// message is ready and its frame.
#include "transport/exchange.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "http2/frame.hpp"
#include "net/memory_duplex.hpp"
#include "support/http2/frames.hpp"
#include "transport/header_block.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::transport::fairness_test {
namespace {

using namespace std::chrono_literals;
namespace frames = http2::test::frames;

constexpr std::size_t frame_bytes = (16u << 10) + http2::frame_header_bytes;
// A send ends when it exceeds 64 KiB: the bytes in flight when the small message becomes ready, ...
constexpr std::size_t in_flight_bytes = (64u << 10) + frame_bytes;
constexpr std::size_t heads_bytes = 200;

// A peer that grants the whole window, reads nothing while it is paused, and keeps what it reads.
class reading_peer final : net::duplex_sink {
 public:
  reading_peer(std::unique_ptr<net::duplex> d, std::string hello)
      : stream_(std::move(d)), hello_(std::move(hello)) {
    stream_->start(*this);
    stream_->send(as_bytes(hello_));
  }
  void pause() { stream_->pause_receive(); }
  void resume() { stream_->resume_receive(); }
  void close() { stream_->close(); }

  // Returns the bytes of DATA on stream `bulk` before the DATA of stream `small`.
  [[nodiscard]] std::size_t bulk_before(http2::stream_id bulk, http2::stream_id small) const {
    std::size_t sum = 0;
    std::size_t at = kept_.starts_with(http2::client_preface) ? http2::client_preface.size() : 0;
    while (at + http2::frame_header_bytes <= kept_.size()) {
      const auto* head = reinterpret_cast<const std::uint8_t*>(kept_.data()) + at;
      const http2::frame_header f = http2::read_frame_header(head);
      if (f.type == http2::frame_type::data && f.id == small) return sum;
      if (f.type == http2::frame_type::data && f.id == bulk) sum += f.length;
      at += http2::frame_header_bytes + f.length;
    }
    ADD_FAILURE() << "the small message did not come";
    return 0;
  }

 private:
  void received(bytes_view bytes) noexcept override { kept_.append(as_text(bytes)); }
  void receive_ended(std::int64_t) noexcept override {}
  void sent(std::int64_t) noexcept override {}
  void closed() noexcept override {}
  std::unique_ptr<net::duplex> stream_;
  const std::string hello_;
  std::string kept_;
};

// Sends as calls do: into the output where permitted, otherwise through the queue.
struct sender final : exchange_handler {
  exchange x;
  void begin(bool of_server) {
    header_block head;
    if (of_server) {
      head.add(":status", "200");
    } else {
      for (const auto& [name, value] : {std::pair{":method", "POST"}, {":scheme", "http"}, {":path", "/a/b"}})
        head.add(name, value);
    }
    x.send_block(head.bytes(), false);
  }
  void send(std::size_t n) {
    if (x.reserve_data(n)) return x.commit_data(n, false);
    x.queue_data(std::make_unique<std::uint8_t[]>(n), n, false);
  }
  void on_headers(header_source&, block_kind, bool) noexcept override {}
  void on_data(bytes_view, bool) noexcept override {}
  void on_writable() noexcept override {}
  void on_reset(const abnormal_end&) noexcept override { x.release(); }
};

struct keeper final : connection_owner, request_acceptor {
  std::unique_ptr<connection> kept;
  sender bulk;
  sender small;
  void on_closed(connection&) noexcept override { kept.reset(); }
  void on_request(exchange x, header_source& fields, bool) noexcept override {
    field f;
    while (fields.next(f)) continue;
    sender& to = bulk.x ? small : bulk;
    to.x = x;
    x.set_handler(&to);
  }
};

std::string hello_of(role peer) {
  constexpr unsigned initial_window = 4;
  constexpr std::uint32_t all = 0x7fffffff;
  const std::string settings = frames::settings({{initial_window, all}}) + frames::settings_ack() +
                               frames::window_update(0, all - 65535);
  if (peer == role::server) return settings;
  return std::string(http2::client_preface) + settings + frames::headers(1, frames::request_block()) +
         frames::headers(3, frames::request_block());
}

// Returns what precedes a small message that becomes ready while a megabyte is being sent in messages of the
// given size.
task<std::size_t> bulk_ahead(role ours, std::size_t message_bytes) {
  loop& here = *loop::current();
  net::memory_pair_options narrow;
  narrow.buffer_bytes = 1024;
  auto [near, far] = net::make_memory_duplex_pair(here, here, narrow);
  keeper k;
  const bool serves = ours == role::server;
  k.kept = std::make_unique<connection>(here, std::move(near), ours, connection_options{}, k,
                                        serves ? &k : nullptr);
  k.kept->start();
  reading_peer peer(std::move(far), hello_of(serves ? role::client : role::server));
  co_await sleep_for(1ms);
  peer.pause();
  for (sender* s : {&k.bulk, &k.small}) {
    if (!serves) s->x = k.kept->open(*s);
    s->begin(serves);
  }
  const auto send_bulk = [&](std::size_t bytes) {
    for (std::size_t sent = 0; sent < bytes; sent += message_bytes) k.bulk.send(message_bytes);
  };
  send_bulk(512u << 10);
  co_await sleep_for(1ms);  // now the first of it waits for the peer
  send_bulk(512u << 10);
  k.small.send(100);
  co_await sleep_for(1ms);
  peer.resume();
  co_await sleep_for(100ms);
  const std::size_t ahead = peer.bulk_before(1, 3);
  k.kept->close(error_code::no_error, "enough");
  co_await sleep_for(1ms);
  peer.close();
  co_await sleep_for(5s);
  EXPECT_FALSE(k.kept);
  co_return ahead;
}

struct sides : testing::TestWithParam<role> {
  std::size_t ahead_of_small(std::size_t message_bytes) {
    sim::world world(1);
    runtime& host = world.host("host", 1);
    return sync_wait(host, host.at(0), bulk_ahead(GetParam(), message_bytes));
  }
};
INSTANTIATE_TEST_SUITE_P(Both, sides, testing::Values(role::server, role::client), [](const auto& of) {
  return of.param == role::server ? std::string("server") : std::string("client");
});

TEST_P(sides, PutASmallMessageBehindNoMoreBulkThanIsOnItsWay) {
  const std::size_t ahead = ahead_of_small(64u << 10);
  EXPECT_GT(ahead, 0u);
  EXPECT_LE(ahead, in_flight_bytes);
}

// ... and, where messages fit into frames, the same amount again that had entered the next send before.
TEST_P(sides, PutASmallMessageBehindNoMoreThanTwoSendsOfMessagesThatFitIntoFrames) {
  EXPECT_LE(ahead_of_small(8u << 10), 2 * in_flight_bytes + heads_bytes);
}

}  // namespace
}  // namespace coracle::transport::fairness_test
