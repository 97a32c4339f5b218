// A user that pauses and a peer that does not read: what TLS buffers meanwhile, and when it reports what.
#include "coracle/tls/limits.hpp"
#include "unit/tls/secured_ends.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>

namespace coracle::tls::backpressure_test {
namespace {

using namespace std::chrono_literals;

// The raw connection below, whose received bytes are held back until the test releases them in one read.
class raw_by_hand final : public net::duplex, net::duplex_sink {
 public:
  explicit raw_by_hand(std::unique_ptr<net::duplex> below) : below_(std::move(below)) {}
  bool keeps = false;
  std::size_t largest_send = 0;
  void give() {
    const std::string all = std::exchange(kept_, {});
    sink_->received(as_bytes(all));
  }
  void end() { sink_->receive_ended(end_.value()); }

  void start(net::duplex_sink& sink) override {
    sink_ = &sink;
    below_->start(*this);
  }
  void pause_receive() noexcept override {}
  void resume_receive() noexcept override {}
  bool send(std::span<const piece> pieces) noexcept override {
    std::size_t size = 0;
    for (const piece& p : pieces) size += p.size;
    largest_send = std::max(largest_send, size);
    return below_->send(pieces);
  }
  [[nodiscard]] bool sending() const noexcept override { return below_->sending(); }
  void shutdown_send() noexcept override { below_->shutdown_send(); }
  void close(bool abort) noexcept override { below_->close(abort); }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return below_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept override {
    return below_->local_address();
  }

 private:
  void received(bytes_view bytes) noexcept override {
    if (keeps) kept_.append(as_text(bytes));
    else sink_->received(bytes);
  }
  void receive_ended(std::int64_t result) noexcept override {
    end_ = result;
    if (!keeps) end();
  }
  void sent(std::int64_t result) noexcept override { sink_->sent(result); }
  void closed() noexcept override { sink_->closed(); }

  const std::unique_ptr<net::duplex> below_;
  net::duplex_sink* sink_ = nullptr;
  std::string kept_;
  std::optional<std::int64_t> end_;
};

// A client and a server over the server's raw connection, after the handshake.
struct ends_by_hand {
  explicit ends_by_hand(two_sides& sides) {
    loop& here = *loop::current();
    auto [c, s] = net::make_memory_duplex_pair(here, here);
    auto by_hand = std::make_unique<raw_by_hand>(std::move(s));
    raw = by_hand.get();
    client.emplace(sides.client->secure(here, std::move(c), "localhost"));
    server.emplace(sides.server->secure(here, std::move(by_hand)));
  }
  raw_by_hand* raw;
  std::optional<recorder> client;
  std::optional<recorder> server;
};

// Four records and the end arrive in one read; the user reads one at a time.
task<> end_behind_records(bool abort) {
  two_sides sides(served_as("server"), trusting("ca"));
  ends_by_hand e(sides);
  co_await sleep_for(1ms);
  const std::string text(60'000, 'x');
  e.raw->keeps = true;
  EXPECT_TRUE(e.client->send(text));
  co_await e.client->until_sent(1);
  co_await sleep_for(1ms);
  co_await e.client->closed_down(abort);
  co_await sleep_for(1ms);
  e.server->on_received = [&e] { e.server->pause(); };
  e.raw->give();
  EXPECT_LT(e.server->text.size(), text.size());
  e.server->resume();
  e.raw->end();  // before TLS itself goes on
  while (!e.server->end) {
    co_await sleep_for(1ms);
    if (e.server->paused) e.server->resume();
  }
  EXPECT_EQ(e.server->text.size(), text.size()) << "the end came before the last bytes";
  EXPECT_EQ(*e.server->end, abort ? -ECONNRESET : 0);
  co_await e.server->closed_down();
}

task<> encrypted_at_once() {
  two_sides sides(served_as("server"), trusting("ca"));
  ends_by_hand e(sides);
  co_await sleep_for(1ms);
  e.client->pause();
  const std::string text(3'000'000, 'x');
  EXPECT_TRUE(e.server->send(text));
  co_await sleep_for(1ms);
  EXPECT_GE(e.raw->largest_send, limits::encrypted_bytes);
  e.client->resume();
  co_await e.client->until_size(text.size());
  EXPECT_LE(e.raw->largest_send, limits::encrypted_bytes + 1024)
      << "a record is little more than what it holds";
  co_await e.client->closed_down();
  co_await e.server->closed_down();
}

class a_paused_connection : public a_secured_connection {};
TEST_F(a_paused_connection, TellsTheEndBehindTheLastByte) { run(end_behind_records, false); }
TEST_F(a_paused_connection, TellsAResetBehindTheLastByte) { run(end_behind_records, true); }
TEST_F(a_paused_connection, HoldsNoMoreThanItsLimitOfWhatIsSent) { run(encrypted_at_once); }

}  // namespace
}  // namespace coracle::tls::backpressure_test
