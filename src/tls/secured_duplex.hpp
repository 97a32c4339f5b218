// secured_duplex: TLS as a duplex over another duplex.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/duplex.hpp"
#include "tls/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace coracle::tls {

// Shakes hands from start() on, within a time limit; what is sent meanwhile waits. What a turn sends leaves in as few
// records as it fits into. Failures arrive as the end of receiving: -EPROTO, -ETIMEDOUT or the connection's own error,
// with a text. An end of the connection without close_notify is an end all the same: HTTP/2 has marks of its own.
//
// Lives on one loop. close() after a failed handshake lets the peer read the alert first.
class secured_duplex final : public net::duplex, private net::duplex_sink, coro::work, coro::timer {
 public:
  // context: kept for as long as this lives.
  secured_duplex(loop& home, std::unique_ptr<net::duplex> raw, std::shared_ptr<const void> context,
                 owned<SSL> connection, bool server, duration handshake_timeout);
  ~secured_duplex() override;
  // Before start().
  [[nodiscard]] engine& tls() noexcept { return engine_; }

  void start(net::duplex_sink& sink) override;
  void pause_receive() noexcept override;
  void resume_receive() noexcept override;
  using duplex::send;
  bool send(std::span<const piece> pieces) noexcept override;
  [[nodiscard]] bool sending() const noexcept override { return sending_; }
  void shutdown_send() noexcept override;
  void close(bool abort) noexcept override;
  void release_idle_memory() noexcept override;
  [[nodiscard]] std::size_t memory_bytes() const noexcept override;
  void give_up_unacknowledged(duration after) noexcept override { raw_->give_up_unacknowledged(after); }
  [[nodiscard]] const net::address& peer_address() const noexcept override { return raw_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept override { return raw_->local_address(); }
  [[nodiscard]] const auth_context* auth() const noexcept override { return auth_.get(); }
  [[nodiscard]] std::string_view end_reason() const noexcept override { return end_reason_; }

 private:
  // net::duplex_sink, of the connection below
  void received(bytes_view bytes) noexcept override;
  void receive_ended(std::int64_t result) noexcept override;
  void sent(std::int64_t result) noexcept override;
  void memory_changed() noexcept override;
  void closed() noexcept override;

  // These throw std::bad_alloc. Does f; the connection fails when that finds no memory.
  template <class F>
  void or_fail(F f) noexcept;
  void advance();  // handshake, then receiving
  bool shake_hands();  // true once it is over
  bool established();  // true: it is a connection for HTTP/2
  void deliver();
  void tell_end() noexcept;
  bool encrypt() noexcept;  // false: it failed, which is not told yet
  bytes_view take(std::size_t most_bytes) noexcept;
  void flush() noexcept;
  void tell_sent(std::int64_t result) noexcept;
  void end_sending() noexcept;  // what is behind the last byte: close_notify and the end
  void fail(std::int64_t error, std::string_view why) noexcept;
  void wake() noexcept;  // turn() from the loop's queue
  void turn() noexcept;
  void time_is_up() noexcept;
  void stop_timer() noexcept;

  loop& home_;
  const std::shared_ptr<const void> context_;
  const std::unique_ptr<net::duplex> raw_;
  engine engine_;
  const duration handshake_timeout_;
  net::duplex_sink* sink_ = nullptr;
  std::shared_ptr<const auth_context> auth_;
  std::string end_reason_;
  std::int64_t send_error_ = 0;
  std::optional<std::int64_t> raw_end_;  // it gives nothing any more; what it gave may not be read yet
  std::optional<std::int64_t> end_;  // of receiving, to be told when nothing pauses
  base::output_buffer in_flight_;
  // The user's send: what is not encrypted yet.
  std::span<const piece> left_;
  std::size_t offset_ = 0;  // into left_'s first
  std::int64_t total_bytes_ = 0;
  std::size_t chain_bytes_ = 0;  // of the peer's certificates, as text
  bool sending_ = false;
  bool flight_ends_send_ = false;  // what is in flight holds its last byte
  bool established_ = false;
  bool failed_ = false;
  bool last_words_ = false;  // an alert that the peer shall see
  bool paused_ = false;
  bool end_told_ = false;
  bool shut_down_ = false;  // asked for
  bool notified_ = false;  // close_notify is written
  bool raw_shut_down_ = false;
  bool raw_broken_ = false;  // takes nothing any more
  bool closing_ = false;
  bool raw_closing_ = false;
  bool raw_closed_ = false;
  bool woken_ = false;
};

}  // namespace coracle::tls
