// Single operations over io_uring.
#include "base/if_memory_allows.hpp"
#include "runtime/kernel/datagram_message.hpp"
#include "runtime/kernel/file_calls.hpp"
#include "runtime/kernel/stream_calls.hpp"
#include "runtime/uring/file_entry.hpp"
#include "runtime/uring/uring_loop.hpp"
#include "runtime/uring/user_data.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>

namespace coracle::runtime_internal {

namespace {

// Of scratch::flags.
constexpr std::uint64_t no_socket = 4;     // polled, then read or written by hand
constexpr std::uint64_t polled_first = 8;  // with IORING_RECVSEND_POLL_FIRST
constexpr std::uint64_t never_began = 16;  // was queued in a ring that is gone

bool has(const operation& op, std::uint64_t flag) noexcept { return op.scratch[scratch::flags] & flag; }

bool waits_for_output(const operation& op) noexcept {
  return op.what == operation::kind::connect || op.what == operation::kind::send ||
         op.what == operation::kind::send_to;
}

// uring_faults::short_sends: half of the pieces, or a part of the only one.
void prepare_short_send(io_uring_sqe& e, int to, msghdr& all) noexcept {
  constexpr std::size_t bytes_max = 4000;
  if (all.msg_iovlen == 1)
    return io_uring_prep_send(&e, to, all.msg_iov->iov_base, std::min(all.msg_iov->iov_len, bytes_max),
                              MSG_NOSIGNAL);
  all.msg_iovlen /= 2;
  io_uring_prep_sendmsg(&e, to, &all, MSG_NOSIGNAL);
}

void prepare_send(io_uring_sqe& e, operation& op, bool short_sends) noexcept {
  constexpr int flags = MSG_WAITALL | MSG_NOSIGNAL;
  msghdr& rest = send_progress::of(op).rest(op);
  const iovec& first = *rest.msg_iov;
  if (short_sends) prepare_short_send(e, op.on, rest);
  else if (rest.msg_iovlen == 1) io_uring_prep_send(&e, op.on, first.iov_base, first.iov_len, flags);
  else io_uring_prep_sendmsg(&e, op.on, &rest, flags);
}

// To poll first spares an attempt in vain; bytes that have come since are seen all the same.
void prepare_receive(io_uring_sqe& e, operation& op, unsigned poll_first) noexcept {
  io_uring_prep_recv(&e, op.on, op.into.data(), op.into.size(), 0);
  e.ioprio |= static_cast<std::uint16_t>(poll_first);
  if (poll_first) op.scratch[scratch::flags] |= polled_first;
}

}  // namespace

void uring_loop::submit(operation& op) noexcept {
  began();
  op.scratch[scratch::flags] = op.no_socket ? no_socket | scratch::waiting : 0;
  if (op.what == operation::kind::send) send_progress::begin(op);
  operations_.push(op);
  prepare(op);
}

void uring_loop::note_never_began(operation& op) noexcept { op.scratch[scratch::flags] |= never_began; }

void uring_loop::cancel(operation& op) noexcept {
  op.scratch[scratch::flags] |= scratch::cancelled;
  request_cancel(user_data_of(tag::operation, op));
}

void uring_loop::prepare(operation& op) noexcept {
  ++counted_.submissions;
  io_uring_sqe& e = entry(0);
  if (has(op, scratch::waiting)) {
    io_uring_prep_poll_add(&e, op.on, waits_for_output(op) ? POLLOUT : POLLIN);
  } else {
    switch (op.what) {
      case operation::kind::connect:
        io_uring_prep_connect(&e, op.on, reinterpret_cast<const sockaddr*>(op.address->bytes),
                              op.address->size);
        break;
      case operation::kind::send: prepare_send(e, op, faults_.short_sends); break;
      case operation::kind::receive: prepare_receive(e, op, is_drained(op.on) ? poll_first_ : 0); break;
      case operation::kind::accept:
        io_uring_prep_accept(&e, op.on, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        break;
      case operation::kind::poll_in: io_uring_prep_poll_add(&e, op.on, POLLIN); break;
      case operation::kind::poll_out: io_uring_prep_poll_add(&e, op.on, POLLOUT); break;
      case operation::kind::send_to:
        io_uring_prep_sendmsg(&e, op.on, &datagram_message::begin(op).header(), MSG_NOSIGNAL);
        break;
      case operation::kind::receive_from:
        io_uring_prep_recvmsg(&e, op.on, &datagram_message::begin(op).header(),
                              datagram_message::receive_flags);
        break;
      case operation::kind::file: prepare_file(e, op); break;
    }
  }
  e.user_data = user_data_of(tag::operation, op);
}

void uring_loop::note_rest(handle h, const completion& c) noexcept {
  const auto i = static_cast<std::size_t>(h);
  if (drained_.size() <= i && !base::if_memory_allows([&] { drained_.resize(i + 1); })) return;
  drained_[i] = c.result > 0 && !(c.flags & IORING_CQE_F_SOCK_NONEMPTY);
}

bool uring_loop::is_drained(handle h) const noexcept {
  const auto i = static_cast<std::size_t>(h);
  return i < drained_.size() && drained_[i];
}

// io_uring would read a pipe by itself, but a write to a broken one brings SIGPIPE, and one to a blocking one
// keeps a kernel thread.
std::int64_t uring_loop::move_by_hand(operation& op) noexcept {
  ++counted_.system_calls;
  if (op.what == operation::kind::receive) return kernel::read_now(op.on, op.into);
  const msghdr& rest = send_progress::of(op).rest(op);
  return kernel::write_now(op.on, rest.msg_iov, rest.msg_iovlen);
}

void uring_loop::finish(operation& op, std::int64_t result) noexcept {
  delivered_ = true;
  operations_.remove(op);
  complete(op, result);
}

void uring_loop::completed(operation& op, std::int64_t result) noexcept {
  std::uint64_t& flags = op.scratch[scratch::flags];
  const bool cancelled = flags & scratch::cancelled;
  // Cancelled by leave(), or interrupted: nobody else asked for it, so it goes on.
  if ((result == -ECANCELED || result == -EINTR) && !cancelled) {
    const bool began = !(flags & never_began);
    flags &= ~never_began;
    if (op.what == operation::kind::connect && began)
      flags |= scratch::waiting;  // a second connect() would be refused
    return prepare(op);
  }
  if (result == -EINTR) result = -ECANCELED;
  if (op.what == operation::kind::connect) return completed_connect(op, result);
  if (flags & scratch::waiting) {
    flags &= ~scratch::waiting;
    if (result < 0 || cancelled) return finish(op, cancelled ? -ECANCELED : result);
    if (!(flags & no_socket)) return prepare(op);
    result = move_by_hand(op);
  }
  switch (op.what) {
    case operation::kind::send:
    case operation::kind::receive:
      if (result == -ENOTSOCK && !(flags & no_socket) && !cancelled) {
        flags |= no_socket | scratch::waiting;
        return prepare(op);
      }
      if (result == -EINVAL && (flags & polled_first)) {  // unknown before Linux 5.19
        flags &= ~polled_first;
        poll_first_ = 0;
        return prepare(op);
      }
      if (result == -EAGAIN && !cancelled) {
        flags |= scratch::waiting;
        return prepare(op);
      }
      if (op.what == operation::kind::receive || result < 0) break;
      if (send_progress& progress = send_progress::of(op); !progress.advance(op, result)) {
        if (cancelled) return finish(op, -ECANCELED);
        if (result == 0) return finish(op, -EIO);  // would try for ever
        if (flags & no_socket) flags |= scratch::waiting;
        return prepare(op);
      } else {
        result = progress.sent();
      }
      break;
    case operation::kind::poll_in:
    case operation::kind::poll_out:
      if (result > 0) result = result & POLLNVAL ? -EBADF : 0;
      break;
    case operation::kind::receive_from:
      if (result >= 0) datagram_message::of(op).finish_receive(op);
      break;
    case operation::kind::file: result = kernel::file_result(op, result); break;
    case operation::kind::connect:
    case operation::kind::accept:
    case operation::kind::send_to: break;
  }
  finish(op, result);
}

void uring_loop::completed_connect(operation& op, std::int64_t result) noexcept {
  if (op.scratch[scratch::flags] & scratch::waiting && result >= 0) {
    int error = 0;
    socklen_t size = sizeof error;
    ++counted_.system_calls;
    result = ::getsockopt(op.on, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
  }
  if (result == -EAGAIN)
    result = -ECONNREFUSED;  // UNIX: the listener's queue is full, and nothing tells when it is not
  finish(op, result);
}

}  // namespace coracle::runtime_internal
