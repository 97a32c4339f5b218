// Multishot sources over io_uring: accepting and receiving until told to stop.
#include "runtime/uring/uring_loop.hpp"
#include "runtime/uring/user_data.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace coracle::runtime_internal {

namespace {

constexpr std::size_t hand_buffer_bytes = 64 * 1024;
constexpr int reads_by_hand_max = 4;  // of one source in a row
constexpr std::uint32_t receive_limit_bytes = 256 * 1024;  // of one source in a row, likewise
// No kernel knows it: the request fails with EINVAL, as it does where multishot is unknown.
constexpr std::uint16_t unknown_flag = 1u << 15;

template <class State>
State& state_of(void* state) noexcept {
  CORACLE_ASSERT(state, "the source has not been started, or has ended");
  return *static_cast<State*>(state);
}

}  // namespace

void uring_loop::start_receive(handle connection, receive_source& source) {
  auto* s = new receiver_state;
  began();
  s->on = connection;
  s->source = &source;
  s->by_hand = !multishot_receive_;
  source.state = s;
  arm(*s);
}

void uring_loop::arm(receiver_state& s) noexcept {
  ++counted_.submissions;
  io_uring_sqe& e = entry(0);
  if (s.by_hand) {
    io_uring_prep_poll_add(&e, s.on, POLLIN);
  } else {
    io_uring_prep_recv_multishot(&e, s.on, nullptr, 0, 0);
    if (faults_.no_multishot_receive) e.ioprio |= unknown_flag;
    e.flags |= IOSQE_BUFFER_SELECT;
    e.buf_group = 0;
    // Others have their turn then, and this one is armed again. liburing 2.3 has no word for it.
    s.limited = receive_limit_;
    if (s.limited) e.splice_fd_in = static_cast<std::int32_t>(receive_limit_bytes);
    if (s.limited && faults_.no_receive_limit) e.ioprio |= unknown_flag;
  }
  e.user_data = user_data_of(tag::receiver, s);
  s.armed = true;
  s.cancelling = false;
}

void uring_loop::pause_receive(receive_source& source) noexcept {
  state_of<receiver_state>(source.state).paused = true;
}

void uring_loop::resume_receive(receive_source& source) noexcept {
  auto& s = state_of<receiver_state>(source.state);
  if (!std::exchange(s.paused, false) || s.stopping) return;
  if (!s.held.empty() || s.has_end) {
    if (!s.linked()) due_receivers_.push_back(s);
  } else if (!s.armed) {
    arm(s);
  }
}

void uring_loop::stop_receive(receive_source& source) noexcept {
  auto& s = state_of<receiver_state>(source.state);
  if (std::exchange(s.stopping, true)) return;
  if (!s.armed) {
    if (!s.linked()) due_receivers_.push_back(s);
  } else if (!std::exchange(s.cancelling, true)) {
    request_cancel(user_data_of(tag::receiver, s));
  }
}

std::size_t uring_loop::held_bytes(const receive_source& source) const noexcept {
  std::size_t all = 0;
  if (const auto* const s = static_cast<const receiver_state*>(source.state))
    for (const auto& chunk : s->held) all += chunk.capacity();
  return all;
}

void uring_loop::take_bytes(receiver_state& s, bytes_view bytes) noexcept {
  if (s.stopping) return;
  if (!s.paused && s.held.empty()) {
    delivered_ = true;
    ++counted_.completions;
    s.source->received(bytes);
    return;
  }
  const bool kept =
      !s.has_end && base::if_memory_allows([&] { s.held.emplace_back(bytes.begin(), bytes.end()); });
  if (!kept && !std::exchange(s.has_end, true))
    s.end = -ENOMEM;  // of a stream with a gap nothing more is passed on
  if (s.paused && s.armed && !s.by_hand && !std::exchange(s.cancelling, true))
    request_cancel(user_data_of(tag::receiver, s));
  if (kept) s.source->held_changed();
}

void uring_loop::completed(receiver_state& s, const completion& c) noexcept {
  if (!(c.flags & IORING_CQE_F_MORE)) s.armed = false;
  const std::int64_t result = c.result;
  if (c.flags & IORING_CQE_F_BUFFER) {
    if (result > 0) take_bytes(s, buffers_.filled(c));
    buffers_.give_back(c);
  }
  if (s.by_hand && result > 0) {
    if (!s.paused && !s.stopping) receive_by_hand(s);
  } else if (result == -EINVAL && s.limited) {
    receive_limit_ = s.limited = false;  // older than Linux 6.17
  } else if (result == -EINVAL && !s.by_hand) {
    multishot_receive_ = false;  // an old kernel: this source and the later ones do without
    s.by_hand = true;
  } else if (result == -ENOTSOCK && !s.by_hand) {
    s.by_hand = true;
  } else if (result == 0 || (result < 0 && result != -ENOBUFS && result != -ECANCELED && result != -EINTR)) {
    s.has_end = true;
    s.end = result;
  }
  if (!s.armed) settle(s);
}

void uring_loop::receive_by_hand(receiver_state& s) noexcept {
  if (!hand_buffer_) hand_buffer_.reset(new (std::nothrow) std::uint8_t[hand_buffer_bytes]);
  if (!hand_buffer_) {
    s.has_end = true;
    s.end = -ENOMEM;
    return;
  }
  for (int i = 0; i < reads_by_hand_max && !s.paused && !s.stopping; ++i) {
    ++counted_.system_calls;
    ssize_t n = ::recv(s.on, hand_buffer_.get(), hand_buffer_bytes, MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) n = ::read(s.on, hand_buffer_.get(), hand_buffer_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      s.has_end = true;
      s.end = n < 0 ? -errno : 0;
      return;
    }
    take_bytes(s, {hand_buffer_.get(), static_cast<std::size_t>(n)});
    if (static_cast<std::size_t>(n) < hand_buffer_bytes) return;  // the next poll says whether there is more
  }
}

// Decides what follows when no request is in the kernel.
void uring_loop::settle(receiver_state& s) noexcept {
  if (s.stopping) return end(s, -ECANCELED);
  if (s.paused) return;
  if (!s.held.empty()) {
    if (!s.linked()) due_receivers_.push_back(s);
  } else if (s.has_end) {
    end(s, s.end);
  } else {
    arm(s);
  }
}

void uring_loop::end(receiver_state& s, std::int64_t result) noexcept {
  delivered_ = true;
  ended();
  ++counted_.completions;
  receive_source& source = *s.source;
  delete &s;
  source.state = nullptr;
  source.ended(result);
}

void uring_loop::start_accept(handle listener, accept_source& source) {
  resting_.reserve(++acceptors_);  // one that rests, for want of memory say, needs none for that
  auto* s = new acceptor_state;
  began();
  s->on = listener;
  s->source = &source;
  s->single = !multishot_accept_;
  source.state = s;
  arm(*s);
}

void uring_loop::arm(acceptor_state& s) noexcept {
  ++counted_.submissions;
  io_uring_sqe& e = entry(0);
  constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (s.single) {
    io_uring_prep_accept(&e, s.on, nullptr, nullptr, flags);
  } else {
    io_uring_prep_multishot_accept(&e, s.on, nullptr, nullptr, flags);
    if (faults_.no_multishot_accept) e.ioprio |= unknown_flag;
  }
  e.user_data = user_data_of(tag::acceptor, s);
  s.armed = true;
}

void uring_loop::stop_accept(accept_source& source) noexcept {
  auto& s = state_of<acceptor_state>(source.state);
  if (std::exchange(s.stopping, true)) return;
  if (s.armed) return request_cancel(user_data_of(tag::acceptor, s));
  std::erase(resting_, &s);
  if (!s.linked()) due_acceptors_.push_back(s);
}

void uring_loop::completed(acceptor_state& s, const completion& c) noexcept {
  if (!(c.flags & IORING_CQE_F_MORE)) s.armed = false;
  if (c.result >= 0 && s.stopping) {
    ::close(c.result);
  } else if (c.result >= 0) {
    delivered_ = true;
    ++counted_.completions;
    not_exhausted();
    s.source->accepted(c.result);
  }
  if (!s.armed) settle(s, c.result);
}

void uring_loop::settle(acceptor_state& s, std::int64_t result) noexcept {
  const int error = result < 0 ? static_cast<int>(-result) : 0;
  if (s.stopping) return end(s, -ECANCELED);
  if (error == EINVAL && !s.single) {  // an old kernel, or no listener: the single accept will tell
    s.single = true;
  } else if (is_exhaustion(error)) {
    exhausted(error);
    s.rests_until = deadline_after(now(), accept_rest);
    resting_.push_back(&s);
    return;
  } else if (error && error != ECANCELED && !is_fault_of_one_connection(error)) {
    return end(s, result);
  } else if (!error && s.single) {
    multishot_accept_ = false;
  }
  arm(s);
}

void uring_loop::end(acceptor_state& s, std::int64_t result) noexcept {
  delivered_ = true;
  ended();
  ++counted_.completions;
  accept_source& source = *s.source;
  delete &s;
  source.state = nullptr;
  source.ended(result);
}

void uring_loop::serve_due() noexcept {
  base::intrusive_list<receiver_state> receivers;
  receivers.take(due_receivers_);
  while (receiver_state* s = receivers.pop_front()) {
    const bool held = !s->held.empty();
    while (!s->paused && !s->stopping && !s->held.empty()) {
      const std::vector<std::uint8_t> chunk = std::move(s->held.front());
      s->held.pop_front();
      delivered_ = true;
      ++counted_.completions;
      s->source->received(chunk);
    }
    if (held && !s->stopping) s->source->held_changed();
    if (!s->armed) settle(*s);
  }
  base::intrusive_list<acceptor_state> acceptors;
  acceptors.take(due_acceptors_);
  while (acceptor_state* s = acceptors.pop_front()) end(*s, -ECANCELED);
  if (resting_.empty()) return;
  const time_point at = now();
  for (std::size_t i = resting_.size(); i-- > 0;) {
    acceptor_state* s = resting_[i];
    if (s->rests_until > at) continue;
    resting_.erase(resting_.begin() + static_cast<std::ptrdiff_t>(i));
    arm(*s);
  }
}

}  // namespace coracle::runtime_internal
