// Single operations over epoll: attempted, and parked until the descriptor is ready.
#include "runtime/epoll/epoll_loop.hpp"
#include "runtime/kernel/datagram_message.hpp"
#include "runtime/kernel/stream_calls.hpp"
#include "runtime/stall_detector.hpp"

#include "coracle/base/impl/assert.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace coracle::runtime_internal {

namespace {

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

// What a coroutine may do in a row before others have their turn, counted from when the loop resumed it.
constexpr int at_once_max = 8;

bool is_writer(const operation& op) noexcept {
  return op.what == operation::kind::connect || op.what == operation::kind::send ||
         op.what == operation::kind::poll_out || op.what == operation::kind::send_to;
}

}  // namespace

void epoll_loop::move(operation& op, operation_list& to) noexcept {
  auto* from = reinterpret_cast<operation_list*>(op.scratch[scratch::list]);
  if (from) from->remove(op);
  to.push(op);
  op.scratch[scratch::list] = reinterpret_cast<std::uint64_t>(&to);
}

bool epoll_loop::is_drained(const operation& op) noexcept {
  if (op.what != operation::kind::receive) return false;
  const watch& w = watch_of(op.on);
  return w.drained && !w.peer_is_done;
}

void epoll_loop::submit(operation& op) noexcept {
  ++counted_.submissions;
  began();
  op.scratch[scratch::flags] = op.scratch[scratch::list] = 0;
  if (op.what == operation::kind::send) send_progress::begin(op);
  if (is_drained(op)) move(op, watch_of(op.on).readers);  // spares an attempt in vain
  else move(op, pending_);
}

std::optional<std::int64_t> epoll_loop::perform_or_submit(operation& op) noexcept {
  const bool sends = op.what == operation::kind::send;
  if (at_once_left_ == 0 || (!sends && op.what != operation::kind::receive) || is_drained(op)) {
    submit(op);
    return std::nullopt;
  }
  --at_once_left_;
  ++counted_.submissions;
  op.scratch[scratch::flags] = op.scratch[scratch::list] = 0;
  std::int64_t result = sends ? send_at_once(op) : try_receive(op);
  if (result == -EAGAIN) result = park(op);
  if (result == -EAGAIN) {
    began();
    return std::nullopt;
  }
  ++counted_.completions;
  return result;
}

void epoll_loop::cancel(operation& op) noexcept {
  op.scratch[scratch::flags] |= scratch::cancelled;
  move(op, pending_);
}

void epoll_loop::finish(operation& op, std::int64_t result) noexcept {
  delivered_ = true;
  at_once_left_ = at_once_max;
  complete(op, result);
}

// -EAGAIN when it waits now; else why it cannot.
std::int64_t epoll_loop::park(operation& op) noexcept {
  watch& w = watch_of(op.on);
  const int error = watch_for_edges(op.on, w);
  if (error < 0) return error;
  op.scratch[scratch::list] = 0;
  move(op, is_writer(op) ? w.writers : w.readers);
  return -EAGAIN;
}

// Those that wait for `w` now, as far as it is not closed meanwhile.
void epoll_loop::attempt_all(watch& w, operation_list& waiting) noexcept {
  const std::uint32_t generation = w.generation;
  for (std::size_t left = waiting.size(); left > 0 && w.generation == generation; --left) {
    operation* op = waiting.pop();
    if (!op) return;
    op->scratch[scratch::list] = 0;
    const stall_detector::watch held(stalls_);
    attempt(*op);
  }
}

void epoll_loop::run_pending() noexcept {
  // What the callbacks submit waits for the next turn.
  for (std::size_t left = pending_.size(); left > 0; --left) {
    operation* op = pending_.pop();
    if (!op) break;
    op->scratch[scratch::list] = 0;
    const stall_detector::watch held(stalls_);
    attempt(*op);
  }
  base::intrusive_list<source_state> now;
  now.take(work_);
  while (source_state* s = now.pop_front()) {
    const stall_detector::watch held(stalls_);
    serve(*s);
  }
}

void epoll_loop::attempt(operation& op) noexcept {
  if (op.scratch[scratch::flags] & scratch::cancelled) return finish(op, -ECANCELED);
  std::int64_t result = 0;
  switch (op.what) {
    case operation::kind::send: result = try_send(op); break;
    case operation::kind::receive: result = try_receive(op); break;
    case operation::kind::connect: result = try_connect(op); break;
    case operation::kind::accept: result = accept_one(op.on); break;
    case operation::kind::poll_in:
    case operation::kind::poll_out: result = try_poll(op); break;
    case operation::kind::send_to:
    case operation::kind::receive_from: result = try_datagram(op); break;
    case operation::kind::file: result = -EOPNOTSUPP; break;  // takes_files() says so
  }
  if (result == -EAGAIN) result = park(op);
  if (result != -EAGAIN) finish(op, result);
}

std::int64_t epoll_loop::accept_one(handle listener) noexcept {
  for (;;) {
    ++counted_.system_calls;
    const int h = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (h >= 0) return h;
    if (errno != EINTR) return would_block(errno) ? -EAGAIN : -errno;
  }
}

// Mostly there is one piece, and it is taken whole: nothing has to be remembered then.
std::int64_t epoll_loop::send_at_once(operation& op) noexcept {
  ssize_t n = 0;
  if (op.piece_count == 1 && !op.no_socket) {
    ++counted_.system_calls;
    n = ::send(op.on, op.pieces->data, op.pieces->size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == static_cast<ssize_t>(op.pieces->size)) return n;
    if (n < 0 && !would_block(errno) && errno != EINTR && errno != ENOTSOCK) return -errno;
  }
  send_progress& progress = send_progress::begin(op);
  if (n > 0) progress.advance(op, n);
  return try_send(op);
}

std::int64_t epoll_loop::try_send(operation& op) noexcept {
  send_progress& progress = send_progress::of(op);
  for (;;) {
    const msghdr& rest = progress.rest(op);
    const iovec& first = *rest.msg_iov;
    constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
    ++counted_.system_calls;
    ssize_t n = -1;
    if (op.no_socket) errno = ENOTSOCK;
    else if (rest.msg_iovlen == 1) n = ::send(op.on, first.iov_base, first.iov_len, flags);
    else n = ::sendmsg(op.on, &rest, flags);
    if (n < 0 && errno == ENOTSOCK) {
      const std::int64_t written = kernel::write_now(op.on, rest.msg_iov, rest.msg_iovlen);
      if (written < 0) return written;
      n = written;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return would_block(errno) ? -EAGAIN : -errno;
    if (progress.advance(op, n)) return progress.sent();
  }
}

std::int64_t epoll_loop::try_receive(operation& op) noexcept {
  if (op.no_socket) {
    ++counted_.system_calls;
    return kernel::read_now(op.on, op.into);
  }
  for (;;) {
    ++counted_.system_calls;
    const ssize_t n = ::recv(op.on, op.into.data(), op.into.size(), MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) return kernel::read_now(op.on, op.into);
    if (n < 0 && errno == EINTR) continue;
    const bool empty = n < 0 && would_block(errno);
    watch& w = watch_of(op.on);
    // epoll(7): a short read of a stream has drained it.
    w.drained = w.registered && (empty || (n > 0 && static_cast<std::size_t>(n) < op.into.size()));
    if (n < 0) return empty ? -EAGAIN : -errno;
    return n;
  }
}

std::int64_t epoll_loop::try_datagram(operation& op) noexcept {
  const bool sends = op.what == operation::kind::send_to;
  datagram_message& message = datagram_message::begin(op);
  for (;;) {
    ++counted_.system_calls;
    constexpr int receive_flags = MSG_DONTWAIT | datagram_message::receive_flags;
    const ssize_t n = sends ? ::sendmsg(op.on, &message.header(), MSG_NOSIGNAL | MSG_DONTWAIT)
                            : ::recvmsg(op.on, &message.header(), receive_flags);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return would_block(errno) ? -EAGAIN : -errno;
    if (!sends) message.finish_receive(op);
    return n;
  }
}

std::int64_t epoll_loop::try_connect(operation& op) noexcept {
  if (!(op.scratch[scratch::flags] & scratch::waiting)) {
    sockaddr_storage to{};
    std::memcpy(&to, op.address->bytes, std::min<std::size_t>(op.address->size, sizeof to));
    ++counted_.system_calls;
    if (::connect(op.on, reinterpret_cast<const sockaddr*>(&to), op.address->size) == 0) return 0;
    if (errno == EAGAIN)
      return -ECONNREFUSED;  // UNIX: the listener's queue is full, and nothing tells when it is not
    if (errno != EINPROGRESS && errno != EINTR) return -errno;
    op.scratch[scratch::flags] |= scratch::waiting;
    return -EAGAIN;
  }
  pollfd p{op.on, POLLOUT, 0};
  ++counted_.system_calls;
  if (::poll(&p, 1, 0) <= 0) return -EAGAIN;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(op.on, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

std::int64_t epoll_loop::try_poll(operation& op) noexcept {
  pollfd p{op.on, static_cast<short>(op.what == operation::kind::poll_in ? POLLIN : POLLOUT), 0};
  ++counted_.system_calls;
  const int n = ::poll(&p, 1, 0);  // does not wait, so that no signal can interrupt it
  if (n < 0) return -errno;
  if (n == 0) return -EAGAIN;
  return p.revents & POLLNVAL ? -EBADF : 0;
}

}  // namespace coracle::runtime_internal
