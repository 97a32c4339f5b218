// socket_duplex: a duplex over a connected socket of the loop's backend.
#pragma once

#include "base/if_memory_allows.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/checked_duplex.hpp"
#include "net/duplex.hpp"
#include "net/raw_address.hpp"
#include "net/tcp_meter.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace coracle::net {

// Three things may be in flight: the receive source, one send, and the work that calls closed().
class socket_duplex final : public checked_duplex, runtime_internal::receive_source, coro::runnable {
 public:
  socket_duplex(loop& owner_loop, runtime_internal::handle socket) noexcept
      : loop_(owner_loop), socket_(socket), ends_(owner_loop, socket), send_(*this) {
    run = [](coro::runnable& w) noexcept { static_cast<socket_duplex&>(w).finish(); };
  }
  ~socket_duplex() override {
    check_destruction();
    if (!sink_) loop_.io().close(socket_);
  }

  void start(duplex_sink& sink) override {
    check_start();
    loop_.io().start_receive(socket_, *this);
    sink_ = &sink;
    receiving_ = true;
    base::if_memory_allows([&] { measured_ = loop_.local<tcp_meter>().opened(socket_); });
  }

  void set_unacknowledged_timeout(duration after) noexcept override {
    loop_.io().set_unacknowledged_timeout(socket_, after);
  }

  void describe(connection_details& to) const override { to.socket = loop_.io().options_of(socket_); }

  void pause_receive() noexcept override {
    if (!std::exchange(paused_, true) && receiving_ && !closing_) loop_.io().pause_receive(*this);
  }
  void resume_receive() noexcept override {
    if (std::exchange(paused_, false) && receiving_ && !closing_) loop_.io().resume_receive(*this);
  }

  void watch_hangup() noexcept override { watches_hangup = true; }

  using checked_duplex::send;
  bool send(std::span<const piece> pieces) noexcept override {
    if (!begin_send()) return false;
    send_.pieces = pieces.data();
    send_.piece_count = pieces.size();
    loop_.io().submit(send_);
    return true;
  }

  void shutdown_send() noexcept override {
    if (begin_shutdown_send() && !sending_) loop_.io().shutdown_send(socket_);
  }

  void close(bool abort) noexcept override {
    if (!begin_close(abort)) return;
    if (receiving_) loop_.io().stop_receive(*this);
    if (sending_) loop_.io().cancel(send_);
    finish_when_idle();
  }

  [[nodiscard]] std::size_t memory_bytes() const noexcept override {
    return receiving_ ? loop_.io().held_bytes(*this) : 0;
  }

  [[nodiscard]] const address& peer_address() const noexcept override { return ends_.peer(); }
  [[nodiscard]] const address& local_address() const noexcept override { return ends_.local(); }
  void read_addresses(address& local, address& peer) const noexcept override { ends_.read(local, peer); }

 private:
  struct send_operation : runtime_internal::operation {
    explicit send_operation(socket_duplex& d) noexcept : owner(d) {
      type = kind::send;
      on = d.socket_;
      complete = [](runtime_internal::operation& o, std::int64_t result) noexcept {
        static_cast<send_operation&>(o).owner.send_ended(result);
      };
    }
    socket_duplex& owner;
  };

  void received(bytes_view bytes) noexcept override {
    if (!closing_) sink_->received(bytes);
  }
  void ended(std::int64_t result) noexcept override {
    receiving_ = false;
    if (!closing_) sink_->receive_ended(result);
    else finish_when_idle();
  }
  void hung_up() noexcept override {
    if (!closing_) sink_->hung_up();
  }
  void held_changed() noexcept override {
    if (!closing_) sink_->memory_changed();
  }
  void send_ended(std::int64_t result) noexcept {
    sending_ = false;
    if (shut_down_ && !closing_) loop_.io().shutdown_send(socket_);
    const bool was_closing = closing_;
    sink_->sent(result);
    if (was_closing) finish_when_idle();
  }
  // Posts a work, so that the sink is not called from inside close() and no completion finds this object
  // destroyed.
  void finish_when_idle() noexcept {
    if (!receiving_ && !sending_ && !std::exchange(finishing_, true)) loop_.post(*this);
  }
  void finish() noexcept {
    if (measured_) loop_.local<tcp_meter>().closing(socket_);
    loop_.io().close(socket_, abort_);
    ends_.socket_closed();
    report_closed();  // may destroy *this
  }

  loop& loop_;
  const runtime_internal::handle socket_;
  bool receiving_ = false;
  bool finishing_ = false;  // finish() is in the loop's queue
  bool measured_ = false;   // by the loop's tcp_meter
  socket_addresses ends_;
  send_operation send_;
};

// Takes ownership of `connected`, and closes it when it throws std::bad_alloc. Call it on the thread of `on`.
std::unique_ptr<duplex> make_socket_duplex(loop& on, runtime_internal::handle connected);

// Connects from the current loop, under the awaiter's stop token and deadline, like stream::connect().
// from: the local address to bind to, or none.
task<result<std::unique_ptr<duplex>>> connect_duplex(address to, address from = {});

}  // namespace coracle::net
