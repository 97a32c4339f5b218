// How a connection ends: by a drain, by close(), or because the engine or the byte stream has failed.
#include "base/if_memory_allows.hpp"
#include "transport/connection.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace coracle::transport {

namespace {

// A closing connection waits so long for its peer to read the rest: closing a socket before its peer has
// ended too makes the kernel drop what the peer has not read yet (RFC 9112 9.6).
constexpr duration linger = std::chrono::seconds(2);

}  // namespace

void connection::drain() noexcept {
  if (closing_ || draining_) return;
  draining_ = true;
  engine_.drain();
  touch();
  update_timer();  // a flush that waits for the preface does not
}

void connection::close(http2::error_code code, std::string_view reason) noexcept {
  if (closing_) return;
  set_end_reason(reason);
  engine_.fail(code, reason);
  dispatch();
}

void connection::going_away() noexcept {
  if (!std::exchange(told_going_away_, true)) owner_.on_going_away(*this);
  draining_ = true;
}

void connection::send_failed(std::int64_t error) noexcept {
  base::if_memory_allows([&] { set_end_reason(io_failure(error)); });
  broken("sending failed");
}

std::string connection::io_failure(std::int64_t error) const {
  const std::string_view said = stream_->end_reason();
  return said.empty() ? std::strerror(static_cast<int>(-error)) : std::string(said);
}

// The engine has failed, or the byte stream has: nothing is left but to send what is pending.
void connection::broken(std::string_view reason) noexcept {
  if (closing_) return;
  set_end_reason(reason);
  if (!engine_.failed()) {
    engine_.feed_end(home_.now());
    for (http2::event e = engine_.next(); e.what != http2::event::kind::none; e = engine_.next()) {
      if (e.what != http2::event::kind::failed) handle(e);
    }
  }
  closing_ = true;
  if (deferred_) {
    deferred_->unread.clear();
    deferred_->unlink();
  }
  going_away();
  if (timer::holder) home_.disarm(*this);
  home_.arm(*this, deadline_after(home_.now(), linger));
  if (acceptor_) mind_memory();
  touch();
}

void connection::finish_if_done() noexcept {
  if (close_called_) return;
  if (draining_ && !closing_ && engine_.open_streams() == 0 && engine_.output().empty() &&
      !stream_->sending() && !engine_.draining()) {
    broken("drained");
    return;
  }
  if (!closing_) return;
  if (!send_broken_) {
    if (unsent()) return;
    stream_->shutdown_send();
    // A client's last words are of no weight; what a server has answered is, until it is read.
    if (acceptor_ && !receive_ended_ && !engine_.all_read()) return;
  }
  close_called_ = true;
  stream_->close(send_broken_);
}

void connection::closed() noexcept {
  if (timer::holder) home_.disarm(*this);
  if (!closing_) broken("closed");
  gone_ = true;  // the owner is told at the turn's end, behind a flush() that may be queued
  touch();
}

void connection::update_timer() noexcept {
  if (closing_) return;
  const time_point t = std::min({engine_.next_timeout(), release_at_, life_.next(), stall_.next()});
  if (timer::holder && timer::when == t) return;
  if (timer::holder) home_.disarm(*this);
  if (t != never) home_.arm(*this, t);
}

}  // namespace coracle::transport
