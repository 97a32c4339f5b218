// Multishot sources over epoll: accepting and receiving until told to stop.
#include "runtime/epoll/epoll_loop.hpp"

#include "coracle/base/impl/assert.hpp"

#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace coracle::runtime_internal {

namespace {

// Of one source in one turn, so that a busy one leaves the others their share.
constexpr int reads_per_turn = 4;
constexpr int accepts_per_turn = 32;

source_state& state_of(void* state) noexcept {
  CORACLE_ASSERT(state, "the source has not been started, or has ended");
  return *static_cast<source_state*>(state);
}

}  // namespace

source_state& epoll_loop::start(handle on) {
  auto made = std::make_unique<source_state>();
  watch& w = watch_of(on);
  CORACLE_ASSERT(!w.source, "a handle has one source at a time");
  source_state& s = *made.release();
  s.on = on;
  ++counted_.submissions;
  began();
  w.source = &s;
  work_.push_back(s);
  return s;
}

void epoll_loop::start_accept(handle listener, accept_source& source) {
  resting_.reserve(++acceptors_);  // one that rests, for want of memory say, needs none for that
  source_state& s = start(listener);
  s.acceptor = &source;
  source.state = &s;
}

void epoll_loop::start_receive(handle connection, receive_source& source) {
  source_state& s = start(connection);
  s.receiver = &source;
  source.state = &s;
}

void epoll_loop::stop(source_state& s) noexcept {
  s.stopping = true;
  if (!s.linked()) work_.push_back(s);
}

void epoll_loop::stop_accept(accept_source& source) noexcept {
  source_state& s = state_of(source.state);
  if (std::exchange(s.resting, false)) std::erase_if(resting_, [&](const resting& r) { return r.of == &s; });
  stop(s);
}
void epoll_loop::stop_receive(receive_source& source) noexcept { stop(state_of(source.state)); }
void epoll_loop::pause_receive(receive_source& source) noexcept { state_of(source.state).paused = true; }

void epoll_loop::resume_receive(receive_source& source) noexcept {
  source_state& s = state_of(source.state);
  if (!std::exchange(s.paused, false)) return;
  if (std::exchange(s.ready, false) && !s.linked()) work_.push_back(s);
}

void epoll_loop::park(source_state& s) noexcept {
  const int error = watch_for_edges(s.on, watch_of(s.on));
  if (error < 0) end(s, error);
}

void epoll_loop::end(source_state& s, std::int64_t result) noexcept {
  delivered_ = true;
  watch_of(s.on).source = nullptr;
  ended();
  ++counted_.completions;
  receive_source* receiver = s.receiver;
  accept_source* acceptor = s.acceptor;
  delete &s;
  if (receiver) {
    receiver->state = nullptr;
    receiver->ended(result);
  } else {
    acceptor->state = nullptr;
    acceptor->ended(result);
  }
}

void epoll_loop::serve(source_state& s) noexcept {
  if (s.stopping) end(s, -ECANCELED);
  else if (s.paused) s.ready = true;
  else if (s.receiver) serve_receive(s);
  else serve_accept(s);
}

void epoll_loop::serve_receive(source_state& s) noexcept {
  for (int i = 0; i < reads_per_turn; ++i) {
    ++counted_.system_calls;
    const ssize_t n = ::recv(s.on, buffer_.get(), buffer_bytes, MSG_DONTWAIT);
    if (n == 0) return end(s, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return park(s);
      return end(s, -errno);
    }
    delivered_ = true;
    ++counted_.completions;
    bytes_without_poll_ += static_cast<std::size_t>(n);
    s.receiver->received({buffer_.get(), static_cast<std::size_t>(n)});
    if (s.stopping) return;  // its end is in the work list
    // epoll(7): a short read of a stream has drained it; only the peer's end may still be behind it.
    const watch& w = watch_of(s.on);
    const bool drained = static_cast<std::size_t>(n) < buffer_bytes && !w.peer_is_done && w.registered;
    if (s.paused) {
      s.ready = s.ready || !drained;
      return;
    }
    if (drained) return;
  }
  if (!s.linked()) work_.push_back(s);
}

void epoll_loop::serve_accept(source_state& s) noexcept {
  for (int i = 0; i < accepts_per_turn; ++i) {
    const std::int64_t h = accept_one(s.on);
    if (h == -EAGAIN) return park(s);
    if (h >= 0) {
      delivered_ = true;
      ++counted_.completions;
      not_exhausted();
      s.acceptor->accepted(static_cast<handle>(h));
      if (s.stopping) return;
    } else if (is_exhaustion(static_cast<int>(-h))) {
      exhausted(static_cast<int>(-h));
      s.resting = true;
      resting_.push_back({&s, deadline_after(now(), accept_rest)});
      return;
    } else if (!is_fault_of_one_connection(static_cast<int>(-h))) {
      return end(s, h);
    }
  }
  work_.push_back(s);
}

void epoll_loop::wake_rested() noexcept {
  if (resting_.empty()) return;
  const time_point at = now();
  for (std::size_t i = resting_.size(); i-- > 0;) {
    source_state* const s = resting_[i].of;
    if (resting_[i].until > at) continue;
    resting_.erase(resting_.begin() + static_cast<std::ptrdiff_t>(i));
    s->resting = false;
    work_.push_back(*s);
  }
}

}  // namespace coracle::runtime_internal
