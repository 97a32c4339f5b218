#include "tls/secured_duplex.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/tls/limits.hpp"
#include "runtime/repeated_lines.hpp"
#include "tls/handshake_instruments.hpp"
#include "tls/peer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace coracle::tls {

namespace {

// The maximum size of a record (RFC 8446 5.1).
constexpr std::size_t record_bytes = 16 * 1024;
// The capacity that a buffer keeps when its connection is idle.
constexpr std::size_t idle_buffer_bytes = 0;

}  // namespace

secured_duplex::secured_duplex(loop& owner_loop, std::unique_ptr<net::duplex> raw,
                               std::shared_ptr<const void> context, openssl_ptr<SSL> connection, bool server,
                               duration handshake_timeout)
    : loop_(owner_loop),
      context_(std::move(context)),
      raw_(std::move(raw)),
      engine_(std::move(connection), server, owner_loop.wall_now()),
      handshake_timeout_(handshake_timeout) {
  runnable::run = [](coro::runnable& w) noexcept { static_cast<secured_duplex&>(w).run(); };
  timer::fire = [](coro::timer& t) noexcept { static_cast<secured_duplex&>(t).time_is_up(); };
}

secured_duplex::~secured_duplex() {
  CORACLE_ASSERT(!sink_ || raw_closed_, "a duplex was destroyed before closed() was called");
  stop_timer();
}

void secured_duplex::start(net::duplex_sink& sink) {
  CORACLE_ASSERT(!sink_, "a duplex is started once");
  sink_ = &sink;
  loop_.arm(*this, deadline_after(loop_.now(), handshake_timeout_));
  try {
    raw_->start(*this);
  } catch (const std::bad_alloc&) {
    sink_ = nullptr;
    stop_timer();
    throw;
  }
  if (!engine_.server() || !engine_.failure().empty()) schedule_run();  // a client speaks first
}

// --- receiving

void secured_duplex::pause_receive() noexcept {
  paused_ = true;
  if (established_) raw_->pause_receive();  // a handshake continues
}

void secured_duplex::resume_receive() noexcept {
  if (!std::exchange(paused_, false) || closing_) return;
  raw_->resume_receive();
  schedule_run();  // for data that was decrypted, or kept, meanwhile
}

void secured_duplex::received(bytes_view bytes) noexcept {
  if (closing_ || failed_) return;
  run_or_fail([&] {
    engine_.feed(bytes);
    advance();
    engine_.keep_unread();
  });
}

template <class F>
void secured_duplex::run_or_fail(F f) noexcept {
  if (!base::if_memory_allows(f) && !closing_) fail(-ENOMEM, "");
}

void secured_duplex::advance() {
  if (!closing_ && !failed_ && (established_ || handshake_step())) deliver();
  // The output also contains what a send has encrypted; a TLS record is slightly larger than its contents.
  const std::size_t most = limits::unread_answers_bytes + (sending_ ? limits::encrypted_bytes + 1024 : 0);
  if (engine_.output().size() > most && established_ && !failed_ && !closing_)
    fail(-EPROTO, "the peer requests TLS responses and does not read them");
  flush();
  end_sending();
}

bool secured_duplex::handshake_step() {
  switch (engine_.handshake()) {
    case engine::step::more: return false;
    case engine::step::done: break;
    default: fail(-EPROTO, engine_.failure()); return false;
  }
  if (!end_handshake()) return false;
  if (paused_) raw_->pause_receive();
  if (sending_ && !encrypt()) fail(-EPROTO, engine_.failure());
  if (!failed_) sink_->handshake_ended();
  return !failed_;
}

bool secured_duplex::end_handshake() {
  stop_timer();
  auth_ = describe_peer(engine_.connection(), engine_.server());
  chain_bytes_ = auth_->peer_certificates_pem().size();
  const std::string_view selected = auth_->application_protocol();
  const bool wants_http1 = required_protocol_ == "http/1.1";
  handshake_.resumed = SSL_session_reused(&engine_.connection()) == 1;
  if (!required_protocol_.empty() && selected != required_protocol_ && !(wants_http1 && selected.empty())) {
    set_handshake_result("NO_APPLICATION_PROTOCOL");
    fail(-EPROTO,
         wants_http1
             ? "the TLS handshake failed: the server does not select HTTP/1.1 (ALPN http/1.1)"
             : "the TLS handshake failed: the server does not select HTTP/2 (ALPN h2): is it a gRPC server?");
    return false;
  }
  set_handshake_result("SUCCESS");
  established_ = true;
  // The byte stream keeps an address once it has been queried: query it only for a line that is written.
  if (loop_.log().is_enabled(log_room::tls, log_level::debug))
    loop_.log()
        .in(log_room::tls)
        .debug("TLS with ", raw_->peer_address(), ": ", auth_->protocol(), ", ", auth_->cipher(), ", ALPN ",
               selected.empty() ? "none" : selected);
  return true;
}

void secured_duplex::describe(net::connection_details& to) const {
  raw_->describe(to);
  to.local_certificate = local_certificate_of(engine_.connection());
}

void secured_duplex::deliver() {
  while (!paused_ && !closing_ && !failed_ && !end_) {
    std::uint8_t plain[record_bytes];
    std::size_t size = 0;
    const engine::step s = engine_.read(plain, size);
    if (s == engine::step::ended) end_ = 0;
    if (s == engine::step::more) end_ = raw_end_;  // all of it has been read
    if (size > 0) sink_->received({plain, size});
    if (s == engine::step::failed && !closing_) fail(-EPROTO, engine_.failure());
    if (s != engine::step::done) break;
  }
  report_end();
}

void secured_duplex::report_end() noexcept {
  if (!end_ || paused_ || closing_ || std::exchange(end_reported_, true)) return;
  sink_->receive_ended(*end_);
}

void secured_duplex::receive_ended(std::int64_t result) noexcept {
  raw_end_ = result;
  if (closing_) return end_sending();
  if (failed_) return;
  run_or_fail([&] {
    if (established_) return deliver();
    std::string reason_text = "the peer closed the connection";
    if (result < 0) reason_text = raw_->end_reason();
    if (reason_text.empty()) reason_text = std::strerror(static_cast<int>(-result));
    fail(result < 0 ? result : -ECONNABORTED, "the TLS handshake failed: " + reason_text);
  });
}

// --- sending

bool secured_duplex::send(std::span<const piece> pieces) noexcept {
  if (closing_ || shut_down_) return false;
  CORACLE_ASSERT(sink_ && !sending_, "a duplex sends after start(), and one send at a time: wait for sent()");
  sending_ = true;
  left_ = pieces;
  offset_ = 0;
  total_bytes_ = 0;
  for (const piece& p : pieces) total_bytes_ += static_cast<std::int64_t>(p.size);
  if (failed_ || raw_broken_) schedule_run();
  else if (established_ && encrypt()) flush();
  else if (established_) schedule_run();
  return true;
}

// Encrypts as much of the send as fits into limits::encrypted_bytes. Small pieces share a record.
bool secured_duplex::encrypt() noexcept {
  const std::size_t held = engine_.output().size();
  std::size_t room = limits::encrypted_bytes - std::min(limits::encrypted_bytes, held);
  while (!left_.empty() && room > 0) {
    std::uint8_t gathered[record_bytes];
    bytes_view plain = take(room);
    if (!left_.empty() && plain.size() < std::min(room, record_bytes)) {
      std::size_t size = 0;
      while (true) {
        std::memcpy(gathered + size, plain.data(), plain.size());
        size += plain.size();
        if (left_.empty() || size == std::min(room, record_bytes)) break;
        plain = take(std::min(room, record_bytes) - size);
      }
      plain = {gathered, size};
    }
    if (!plain.empty() && !engine_.write(plain)) return false;
    room -= plain.size();
  }
  return true;
}

// Returns the next bytes of the send, from a single piece.
bytes_view secured_duplex::take(std::size_t max_bytes) noexcept {
  const piece& p = left_.front();
  const std::size_t n = std::min(p.size - offset_, max_bytes);
  const bytes_view taken(static_cast<const std::uint8_t*>(p.data) + offset_, n);
  offset_ += n;
  if (offset_ == p.size) {
    left_ = left_.subspan(1);
    offset_ = 0;
  }
  return taken;
}

void secured_duplex::flush() noexcept {
  base::output_buffer& out = engine_.output();
  if (raw_broken_ || raw_shut_down_ || raw_closing_) return out.clear();
  if (out.empty() || raw_->sending()) return;
  in_flight_.swap(out);
  flight_ends_send_ = sending_ && established_ && left_.empty();
  if (!raw_->send(in_flight_.pending())) raw_broken_ = true;
}

void secured_duplex::sent(std::int64_t result) noexcept {
  in_flight_.clear();
  if (result < 0) {
    raw_broken_ = true;
    send_error_ = result;
    if (sending_ && !closing_) report_sent(result);
  } else if (std::exchange(flight_ends_send_, false) && sending_) {
    report_sent(total_bytes_);
  } else if (sending_ && established_ && !failed_ && !closing_ && !encrypt()) {
    fail(-EPROTO, engine_.failure());
  }
  flush();
  end_sending();
}

void secured_duplex::shutdown_send() noexcept {
  if (closing_ || std::exchange(shut_down_, true)) return;
  flush();
  end_sending();
}

void secured_duplex::report_sent(std::int64_t result) noexcept {
  sending_ = false;
  left_ = {};
  sink_->sent(result);
}

void secured_duplex::end_sending() noexcept {
  if (raw_closing_ || raw_->sending() || !engine_.output().empty()) return;
  if (shut_down_ && !sending_ && !std::exchange(notified_, true) && established_ && !failed_) {
    engine_.write_close_notify();
    flush();
    if (raw_->sending()) return;
  }
  const bool last_words = close_notify_sent_ && closing_;
  if ((notified_ || last_words) && !std::exchange(raw_shut_down_, true)) raw_->shutdown_send();
  if (!closing_) return;
  // Closing a socket with unread bytes resets the connection, and the peer would not see the alert.
  if (last_words && !raw_end_ && !raw_broken_ && timer::holder) return;
  raw_closing_ = true;
  raw_->close(false);
}

// --- failure and close

void secured_duplex::fail(std::int64_t error, std::string_view reason) noexcept {
  if (failed_) return;
  failed_ = true;
  if (!established_) set_handshake_result(engine_.name_of_failure(error));
  stop_timer();
  base::if_memory_allows([&] {
    end_reason_ = reason;
    // Clients determine how often handshakes fail.
    if (engine_.server() && loop_.log().is_enabled(log_room::tls, log_level::info))
      // What stands in parentheses, such as the subject of a certificate, is the client's to choose.
      repeated_lines::write(loop_, log_room::tls, log_level::info, nullptr,
                            "TLS " + end_reason_.substr(0, end_reason_.find('(')),
                            "TLS with " + raw_->peer_address().to_string() + ": " + end_reason_);
  });
  send_error_ = error;
  if (!end_) end_ = error;
  close_notify_sent_ = !engine_.output().empty() || raw_->sending();
  flush();
  if (sending_) report_sent(error);
  report_end();
}

void secured_duplex::set_handshake_result(std::string_view result) noexcept {
  if (!handshake_.result.empty()) return;
  handshake_.result = result;
  // A client's handshakes are measured with the target of its channel.
  if (engine_.server()) measure_server_handshake(handshake_);
}

void secured_duplex::close(bool abort) noexcept {
  CORACLE_ASSERT(sink_, "a duplex is closed after start(); before, it is destroyed");
  if (std::exchange(closing_, true)) return;
  stop_timer();
  const bool last_words = close_notify_sent_ && !raw_broken_ && !raw_end_;
  const bool proper = !abort && shut_down_ && !sending_ && established_ && !failed_ && !raw_broken_;
  if (!last_words && !proper) {
    raw_closing_ = true;
    return raw_->close(abort);
  }
  loop_.arm(*this, deadline_after(loop_.now(), limits::close_notify_time));
  raw_->resume_receive();
  schedule_run();
}

void secured_duplex::closed() noexcept {
  raw_closed_ = true;
  stop_timer();
  if (!run_scheduled_) run();
}

void secured_duplex::time_is_up() noexcept {
  if (closing_) {
    if (!std::exchange(raw_closing_, true)) raw_->close(true);
    return;
  }
  run_or_fail([&] {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(handshake_timeout_).count();
    fail(-ETIMEDOUT, "the TLS handshake did not end within " + std::to_string(ms) + " ms");
  });
}

void secured_duplex::stop_timer() noexcept {
  if (timer::holder) loop_.disarm(*this);
}

// Uses the queue because the sink must not be called from inside its own calls.
void secured_duplex::schedule_run() noexcept {
  if (!std::exchange(run_scheduled_, true)) loop_.post(*this);
}

void secured_duplex::run() noexcept {
  run_scheduled_ = false;
  if (raw_closed_) {
    if (sending_) report_sent(-ECANCELED);
    return sink_->closed();  // may destroy *this
  }
  if (sending_ && !closing_) {
    if (failed_ || raw_broken_) report_sent(send_error_);
    else if (established_ && !encrypt()) fail(-EPROTO, engine_.failure());
  }
  run_or_fail([&] {
    advance();
    engine_.keep_unread();
  });
  report_end();
}

std::size_t secured_duplex::memory_bytes() const noexcept {
  const std::size_t buffers = in_flight_.capacity() + engine_.buffers_bytes() + raw_->memory_bytes();
  if (!established_) return limits::connection_memory_bytes + limits::handshake_memory_bytes + buffers;
  // The chain as text, and about twice its size for OpenSSL's objects.
  return limits::connection_memory_bytes + buffers + 3 * chain_bytes_;
}

void secured_duplex::hung_up() noexcept {
  if (paused_ && !closing_) sink_->hung_up();
}

void secured_duplex::memory_changed() noexcept {
  if (!closing_) sink_->memory_changed();
}

void secured_duplex::release_idle_memory() noexcept {
  in_flight_.release(idle_buffer_bytes);
  engine_.output().release(idle_buffer_bytes);
}

}  // namespace coracle::tls
