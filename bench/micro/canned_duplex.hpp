// canned_duplex: a byte stream without a socket, whose peer is a canned one.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/executor.hpp"
#include "micro/canned_peer.hpp"
#include "micro/measured.hpp"
#include "net/duplex.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bench {

// Its duration and its result.
struct canned_course {
  canned_peer& peer;
  std::size_t warm_up_batches;
  std::size_t batches;
  bool peer_ends = true;  // the stream, behind the last batch
  bool wrong = false;
  coracle::event<> over{};
};

// Delivers a batch, lets the end of the turn send, ends the send, and so on, as a socket does under a peer
// that waits for the replies. The opening goes first. The batches after the warm-up are measured.
class canned_duplex final : public coracle::net::duplex, coracle::coro::runnable {
 public:
  canned_duplex(coracle::coro::executor& owner_loop, canned_course& course) noexcept
      : loop_(owner_loop), course_(course) {
    run = [](coracle::coro::runnable& w) noexcept { static_cast<canned_duplex&>(w).step(); };
  }

  void start(coracle::net::duplex_sink& sink) override {
    sink_ = &sink;
    wake();
  }
  void pause_receive() noexcept override { paused_ = true; }
  void resume_receive() noexcept override {
    if (std::exchange(paused_, false)) wake();
  }
  using duplex::send;
  bool send(std::span<const piece> pieces) noexcept override {
    if (closing_) return false;
    for (const piece& p : pieces) {
      const measured::pause unmeasured;
      sending_ += p.size;
      course_.wrong |= !course_.peer.judge({static_cast<const std::uint8_t*>(p.data), p.size});
    }
    wake();
    return true;
  }
  [[nodiscard]] bool sending() const noexcept override { return sending_ != 0; }
  void shutdown_send() noexcept override {}
  void close(bool) noexcept override {
    closing_ = true;
    wake();
  }
  [[nodiscard]] const coracle::net::address& peer_address() const noexcept override { return none_; }
  [[nodiscard]] const coracle::net::address& local_address() const noexcept override { return none_; }

 private:
  // After the existing hooks, above all the connection's own, which sends.
  void wake() noexcept {
    if (!std::exchange(waiting_, true)) loop_.at_turn_end(*this);
  }

  void step() noexcept {
    waiting_ = false;
    if (sending_ != 0) {
      sink_->sent(static_cast<std::int64_t>(std::exchange(sending_, 0)));
      return wake();
    }
    if (closing_) {
      course_.over.set();
      return sink_->closed();  // destroys this
    }
    if (paused_ || ended_) return;
    if (give()) wake();
  }

  // False when the peer waits.
  bool give() noexcept {
    const coracle::bytes_view bytes = next();
    if (bytes.empty()) return false;
    const std::size_t batch = given_++;
    if (batch == course_.warm_up_batches + 1) measured::begin();
    if (batch == course_.warm_up_batches + course_.batches + 1) {
      measured::end();
      ended_ = course_.peer_ends;
    }
    if (ended_) sink_->receive_ended(0);
    else sink_->received(bytes);
    return true;
  }

  coracle::bytes_view next() noexcept {
    const measured::pause unmeasured;
    return given_ == 0 ? course_.peer.opening() : course_.peer.next_batch();
  }

  coracle::coro::executor& loop_;
  canned_course& course_;
  coracle::net::duplex_sink* sink_ = nullptr;
  std::size_t given_ = 0;
  std::size_t sending_ = 0;  // bytes
  bool waiting_ = false;
  bool paused_ = false;
  bool ended_ = false;
  bool closing_ = false;
  const coracle::net::address none_;
};

}  // namespace bench
