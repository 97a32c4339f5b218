// secured_duplex: TLS over another duplex.
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
#include <string_view>

namespace coracle::tls {

// Performs the handshake from start() on, within a time limit; data sent meanwhile waits. The data of one
// send is written in as few records as possible. A failure is reported as the end of receiving, with -EPROTO,
// -ETIMEDOUT or the error of the raw connection, and a message. If the raw connection ends without
// close_notify, that is a normal end, because HTTP has its own end markers.
//
// Used on one loop. After a failed handshake close() lets the peer read the alert first.
class secured_duplex final : public net::duplex, private net::duplex_sink, coro::runnable, coro::timer {
 public:
  // context: kept alive as long as this object.
  secured_duplex(loop& owner_loop, std::unique_ptr<net::duplex> raw, std::shared_ptr<const void> context,
                 openssl_ptr<SSL> connection, bool server, duration handshake_timeout);
  ~secured_duplex() override;
  // Call it before start().
  [[nodiscard]] engine& tls() noexcept { return engine_; }
  // Client, before start(): the application protocol that the server must select. A server that selects none
  // is accepted for HTTP/1.1. A server accepts what the client and its own context agree on.
  void require_protocol(std::string_view name) { required_protocol_ = name; }

  void start(net::duplex_sink& sink) override;
  void pause_receive() noexcept override;
  void resume_receive() noexcept override;
  void watch_hangup() noexcept override { raw_->watch_hangup(); }
  using duplex::send;
  bool send(std::span<const piece> pieces) noexcept override;
  [[nodiscard]] bool sending() const noexcept override { return sending_; }
  [[nodiscard]] bool established() const noexcept override { return established_; }
  void shutdown_send() noexcept override;
  void close(bool abort) noexcept override;
  void release_idle_memory() noexcept override;
  [[nodiscard]] std::size_t memory_bytes() const noexcept override;
  void set_unacknowledged_timeout(duration after) noexcept override {
    raw_->set_unacknowledged_timeout(after);
  }
  void describe(net::connection_details& to) const override;
  [[nodiscard]] const net::address& peer_address() const noexcept override { return raw_->peer_address(); }
  [[nodiscard]] const net::address& local_address() const noexcept override { return raw_->local_address(); }
  void read_addresses(net::address& local, net::address& peer) const noexcept override {
    raw_->read_addresses(local, peer);
  }
  [[nodiscard]] const auth_context* auth() const noexcept override { return auth_.get(); }
  [[nodiscard]] bool covers(std::string_view host) const noexcept override { return engine_.covers(host); }
  [[nodiscard]] net::handshake_end handshake() const noexcept override { return handshake_; }
  [[nodiscard]] std::string_view end_reason() const noexcept override {
    return end_reason_.empty() ? raw_->end_reason() : end_reason_;
  }

 private:
  // net::duplex_sink, called by the raw connection
  void received(bytes_view bytes) noexcept override;
  void receive_ended(std::int64_t result) noexcept override;
  void sent(std::int64_t result) noexcept override;
  void memory_changed() noexcept override;
  void hung_up() noexcept override;
  void closed() noexcept override;

  // f and the functions of this group may throw std::bad_alloc. Runs f; fails the connection if f runs out of
  // memory.
  template <class F>
  void run_or_fail(F f) noexcept;
  void advance();  // continues the handshake, then receiving
  bool handshake_step();  // true once the handshake is complete
  bool end_handshake();  // true if the application protocol is accepted
  void deliver();
  void report_end() noexcept;
  bool encrypt() noexcept;  // false: it failed, which was not reported yet
  bytes_view take(std::size_t max_bytes) noexcept;
  void flush() noexcept;
  void report_sent(std::int64_t result) noexcept;
  void end_sending() noexcept;  // after the last byte: sends close_notify and the end
  void fail(std::int64_t error, std::string_view reason) noexcept;
  void set_handshake_result(std::string_view result) noexcept;  // the first one counts
  void schedule_run() noexcept;  // posts run() to the loop's queue
  void run() noexcept;
  void time_is_up() noexcept;
  void stop_timer() noexcept;

  loop& loop_;
  const std::shared_ptr<const void> context_;
  const std::unique_ptr<net::duplex> raw_;
  engine engine_;
  const duration handshake_timeout_;
  net::duplex_sink* sink_ = nullptr;
  std::shared_ptr<const auth_context> auth_;
  std::string required_protocol_;  // empty: any
  net::handshake_end handshake_;
  std::string end_reason_;
  std::int64_t send_error_ = 0;
  std::optional<std::int64_t> raw_end_;  // the raw connection ended; bytes received before may be unread
  std::optional<std::int64_t> end_;  // the end of receiving, reported when receiving is not paused
  base::output_buffer in_flight_;
  // The part of the user's send that has not been encrypted.
  std::span<const piece> left_;
  std::size_t offset_ = 0;  // into the first piece of left_
  std::int64_t total_bytes_ = 0;
  std::size_t chain_bytes_ = 0;  // size of the peer's certificates as PEM text
  bool sending_ = false;
  bool flight_ends_send_ = false;  // in_flight_ contains the last byte of the user's send
  bool established_ = false;
  bool failed_ = false;
  bool close_notify_sent_ = false;  // there is an alert that the peer should receive
  bool paused_ = false;
  bool end_reported_ = false;
  bool shut_down_ = false;  // shutdown_send() was called
  bool notified_ = false;  // close_notify was written
  bool raw_shut_down_ = false;
  bool raw_broken_ = false;  // accepts no more data
  bool closing_ = false;
  bool raw_closing_ = false;
  bool raw_closed_ = false;
  bool run_scheduled_ = false;
};

}  // namespace coracle::tls
