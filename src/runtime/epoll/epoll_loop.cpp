// epoll_loop: its turn, single operations, which are attempted and parked until a descriptor is ready, and
// sources.
#include "runtime/epoll/epoll_loop.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/kernel/kernel_backend.hpp"
#include "runtime/kernel/poll_now.hpp"
#include "runtime/kernel/stream_calls.hpp"
#include "runtime/stall_detector.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace coracle::runtime_internal {

namespace {

constexpr int events_per_turn = 256;
// After a turn that completed something without calling epoll, the loop first processes the results. The
// limits apply to consecutive turns of this kind: the first gives other descriptors a chance beside a sender
// that never has to wait, and the second is a number of bytes whose transfer costs more than a call of epoll.
constexpr int turns_without_poll_max = 8;
constexpr std::size_t bytes_without_poll_max = 64 * 1024;

timespec to_timespec(duration d) noexcept {
  const auto ns = std::max<std::int64_t>(d.count(), 0);
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

}  // namespace

std::unique_ptr<backend> make_epoll_backend(logger& log, int& error) {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event e{};
  e.events = EPOLLIN | EPOLLET;  // each write is an edge, so that the counter need not be read
  e.data.u64 = epoll_loop::own_event;
  if (poll < 0 || event < 0 || ::epoll_ctl(poll, EPOLL_CTL_ADD, event, &e) < 0) {
    error = errno;
    if (poll >= 0) ::close(poll);
    if (event >= 0) ::close(event);
    return nullptr;
  }
  return std::make_unique<epoll_loop>(log, poll, event);
}

epoll_loop::epoll_loop(logger& log, handle poll, handle event)
    : kernel_backend(log, event), poll_(poll), buffer_(new std::uint8_t[buffer_bytes]) {}

epoll_loop::~epoll_loop() { ::close(poll_); }

watch& epoll_loop::make_watch(handle h) {
  CORACLE_ASSERT(h >= 0, "an operation needs a handle");
  const auto i = static_cast<std::size_t>(h);
  const std::size_t row = i / watches_per_chunk;
  if (watches_.size() <= row) watches_.resize(row + 1);
  if (!watches_[row]) watches_[row] = std::make_unique<watch[]>(watches_per_chunk);
  return watches_[row][i % watches_per_chunk];
}

// Registers the descriptor if it is not registered yet. Call it after an attempt failed with EAGAIN: epoll
// reports at once what has become ready since. Returns 0 or -errno.
int epoll_loop::watch_for_edges(handle h, watch& w) noexcept {
  if (w.registered) return 0;
  epoll_event e{};
  e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  e.data.u64 = std::uint64_t{w.generation} << 32 | static_cast<std::uint32_t>(h);
  ++stats_.system_calls;
  int outcome = ::epoll_ctl(poll_, EPOLL_CTL_ADD, h, &e);
  // The registration remains from a descriptor whose file is still open through a duplicate.
  if (outcome < 0 && errno == EEXIST) outcome = ::epoll_ctl(poll_, EPOLL_CTL_MOD, h, &e);
  if (outcome < 0) return -errno;
  w.registered = true;
  return 0;
}

void epoll_loop::close(handle h, bool abort) noexcept {
  if (has_watch(h)) {
    watch& w = watch_of(h);
    CORACLE_ASSERT(w.idle(), "a handle is closed after what was in flight on it has ended");
    w.registered = w.peer_is_done = w.drained = false;
    ++w.generation;
  }
  close_socket(h, abort);
}

void epoll_loop::forget(handle h) noexcept {
  if (!has_watch(h)) return;
  watch& w = watch_of(h);
  if (!w.registered || !w.idle()) return;  // another object of the program still uses it
  epoll_event unused{};
  ++stats_.system_calls;
  ::epoll_ctl(poll_, EPOLL_CTL_DEL, h, &unused);
  w.registered = w.peer_is_done = w.drained = false;
  ++w.generation;
}

void epoll_loop::turn(time_point until) noexcept {
  ++stats_.turns;
  resume_paused();
  delivered_ = false;
  run_pending();
  if (delivered_ && ++turns_without_poll_ < turns_without_poll_max &&
      bytes_without_poll_ < bytes_without_poll_max)
    return;
  turns_without_poll_ = 0;
  bytes_without_poll_ = 0;
  wait(delivered_ || !pending_.empty() || !work_.empty() ? time_point::min() : until);
  run_pending();
}

void epoll_loop::wait(time_point until) noexcept {
  if (until != time_point::min())
    for (const paused_source& r : pausing_) until = std::min(until, r.until);
  epoll_event events[events_per_turn];
  const bool wait_at_all = until != time_point::min();
  const bool for_ever = until == never;
  if (wait_at_all && !for_ever) wait_began_ = now();
  const duration left = wait_at_all && !for_ever ? until - wait_began_ : duration::zero();
  const timespec t = to_timespec(left);
  ++stats_.system_calls;
  int n = -1;
  if (precise_) {
    n = ::epoll_pwait2(poll_, events, events_per_turn, for_ever ? nullptr : &t, nullptr);
    if (n < 0 && (errno == ENOSYS || errno == EPERM))
      precise_ = false;  // older than Linux 5.11, or blocked by seccomp
  }
  if (!precise_) {
    constexpr std::int64_t day_ms = 86'400'000;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, duration::zero())).count();
    n = ::epoll_wait(poll_, events, events_per_turn,
                     for_ever ? -1 : static_cast<int>(std::min<std::int64_t>(ms, day_ms)));
  }
  for (int i = 0; i < n; ++i) take_event(events[i].data.u64, events[i].events);
}

// Processes the event at once, so that a descriptor's state is fetched into the cache once, however many
// others are ready.
void epoll_loop::take_event(std::uint64_t of, std::uint32_t events) noexcept {
  if (of == own_event) return;
  watch& w = watch_of(static_cast<handle>(static_cast<std::uint32_t>(of)));
  const auto generation = static_cast<std::uint32_t>(of >> 32);
  if (w.generation != generation) return;
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) w.peer_is_done = true;
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) {
    w.drained = false;
    attempt_all(w, w.readers);
    if (w.generation != generation) return;  // closed by one of these
    if (source_state* s = w.source; s && !s->linked() && !s->pausing) {
      const stall_detector::watch held(stalls_);
      serve(*s);
    }
  }
  if (w.generation == generation && events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) attempt_all(w, w.writers);
}

int epoll_loop::pollable(time_point next_deadline) noexcept {
  if (deadline_.descriptor() < 0) {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;
    e.data.u64 = own_event;
    if (!deadline_.open()) return -1;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, deadline_.descriptor(), &e) < 0) {
      deadline_.close();
      return -1;
    }
  }
  for (const paused_source& r : pausing_) next_deadline = std::min(next_deadline, r.until);
  if (!pending_.empty() || !work_.empty() || !deadline_.set(next_deadline, now(), stats_)) {
    ++stats_.system_calls;
    wake();
  }
  return poll_;
}

// --- single operations

namespace {

bool would_block(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK; }

// How many operations a coroutine may perform in a row before others run, counted from its resumption.
constexpr int immediate_max = 8;

bool is_writer(const operation& op) noexcept {
  return op.type == operation::kind::connect || op.type == operation::kind::send ||
         op.type == operation::kind::poll_out || op.type == operation::kind::send_to;
}

}  // namespace

void epoll_loop::move(operation& op, operation_list& to) noexcept {
  auto* from = reinterpret_cast<operation_list*>(op.scratch[scratch::list]);
  if (from) from->remove(op);
  to.push(op);
  op.scratch[scratch::list] = reinterpret_cast<std::uint64_t>(&to);
}

bool epoll_loop::is_drained(const operation& op) noexcept {
  if (op.type != operation::kind::receive) return false;
  const watch& w = watch_of(op.on);
  return w.drained && !w.peer_is_done;
}

void epoll_loop::submit(operation& op) noexcept {
  ++stats_.submissions;
  began();
  op.scratch[scratch::flags] = op.scratch[scratch::list] = 0;
  if (op.type == operation::kind::send) send_progress::begin(op);
  if (is_drained(op)) move(op, watch_of(op.on).readers);  // avoids a futile attempt
  else move(op, pending_);
}

std::optional<std::int64_t> epoll_loop::perform_or_submit(operation& op) noexcept {
  const bool sends = op.type == operation::kind::send;
  if (immediate_left_ == 0 || (!sends && op.type != operation::kind::receive) || is_drained(op)) {
    submit(op);
    return std::nullopt;
  }
  --immediate_left_;
  ++stats_.submissions;
  op.scratch[scratch::flags] = op.scratch[scratch::list] = 0;
  std::int64_t result = sends ? send_immediately(op) : try_receive(op);
  if (result == -EAGAIN) result = park(op);
  if (result == -EAGAIN) {
    began();
    return std::nullopt;
  }
  ++stats_.completions;
  return result;
}

void epoll_loop::cancel(operation& op) noexcept {
  op.scratch[scratch::flags] |= scratch::cancelled;
  move(op, pending_);
}

void epoll_loop::finish(operation& op, std::int64_t result) noexcept {
  delivered_ = true;
  immediate_left_ = immediate_max;
  complete(op, result);
}

// Returns -EAGAIN when the operation waits now, else the error that prevents it.
std::int64_t epoll_loop::park(operation& op) noexcept {
  watch& w = watch_of(op.on);
  const int error = watch_for_edges(op.on, w);
  if (error < 0) return error;
  op.scratch[scratch::list] = 0;
  move(op, is_writer(op) ? w.writers : w.readers);
  return -EAGAIN;
}

// Attempts the operations that wait for `w` now, until a callback closes the handle.
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
  // Operations that the callbacks submit wait for the next turn.
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
  switch (op.type) {
    case operation::kind::send: result = try_send(op); break;
    case operation::kind::receive: result = try_receive(op); break;
    case operation::kind::connect: result = try_connect(op); break;
    case operation::kind::accept: result = accept_one(op.on); break;
    case operation::kind::poll_in:
    case operation::kind::poll_out: result = try_poll(op); break;
    case operation::kind::send_to:
    case operation::kind::receive_from: result = try_datagram(op); break;
    case operation::kind::file: result = -EOPNOTSUPP; break;  // not used, because takes_files() is false
  }
  if (result == -EAGAIN) result = park(op);
  if (result != -EAGAIN) finish(op, result);
}

std::int64_t epoll_loop::accept_one(handle listener) noexcept {
  for (;;) {
    ++stats_.system_calls;
    const int h = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (h >= 0) return h;
    if (errno != EINTR) return would_block(errno) ? -EAGAIN : -errno;
  }
}

// Usually there is one piece, and the kernel takes it whole: no progress has to be stored then.
std::int64_t epoll_loop::send_immediately(operation& op) noexcept {
  ssize_t n = 0;
  if (op.piece_count == 1 && !op.no_socket) {
    ++stats_.system_calls;
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
    ++stats_.system_calls;
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
    ++stats_.system_calls;
    return kernel::read_now(op.on, op.into);
  }
  for (;;) {
    ++stats_.system_calls;
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
  const bool sends = op.type == operation::kind::send_to;
  datagram_message& message = datagram_message::begin(op);
  for (;;) {
    ++stats_.system_calls;
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
    ++stats_.system_calls;
    if (::connect(op.on, reinterpret_cast<const sockaddr*>(&to), op.address->size) == 0) return 0;
    if (errno == EAGAIN)
      return -ECONNREFUSED;  // UNIX: the listener's queue is full, and no event reports when it has room
    if (errno != EINPROGRESS && errno != EINTR) return -errno;
    op.scratch[scratch::flags] |= scratch::waiting;
    return -EAGAIN;
  }
  pollfd p{op.on, POLLOUT, 0};
  ++stats_.system_calls;
  if (kernel::poll_now(p) <= 0) return -EAGAIN;
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(op.on, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

std::int64_t epoll_loop::try_poll(operation& op) noexcept {
  pollfd p{op.on, static_cast<short>(op.type == operation::kind::poll_in ? POLLIN : POLLOUT), 0};
  ++stats_.system_calls;
  const int n = kernel::poll_now(p);
  if (n < 0) return -errno;
  if (n == 0) return -EAGAIN;
  return p.revents & POLLNVAL ? -EBADF : 0;
}

// --- multishot sources

namespace {

// Limits per source and turn, so that a busy source leaves time to the others.
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
  ++stats_.submissions;
  began();
  w.source = &s;
  work_.push_back(s);
  return s;
}

void epoll_loop::start_accept(handle listener, accept_source& source) {
  pausing_.reserve(++acceptors_);  // reserved now, because a pause may be due to a lack of memory
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
  if (std::exchange(s.pausing, false))
    std::erase_if(pausing_, [&](const paused_source& r) { return r.of == &s; });
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
  ++stats_.completions;
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
  else if (s.paused) {
    s.ready = true;
    watch_hangup(s);
  } else if (s.receiver) serve_receive(s);
  else serve_accept(s);
}

void epoll_loop::serve_receive(source_state& s) noexcept {
  for (int i = 0; i < reads_per_turn; ++i) {
    ++stats_.system_calls;
    const ssize_t n = ::recv(s.on, buffer_.get(), buffer_bytes, MSG_DONTWAIT);
    if (n == 0) return end(s, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return park(s);
      return end(s, -errno);
    }
    delivered_ = true;
    ++stats_.completions;
    bytes_without_poll_ += static_cast<std::size_t>(n);
    s.receiver->received({buffer_.get(), static_cast<std::size_t>(n)});
    if (s.stopping) return;  // its end is in the work list
    // epoll(7): a short read of a stream has drained it; only the peer's end may follow.
    const watch& w = watch_of(s.on);
    const bool drained = static_cast<std::size_t>(n) < buffer_bytes && !w.peer_is_done && w.registered;
    if (s.paused) {
      s.ready = s.ready || !drained;
      return watch_hangup(s);
    }
    if (drained) return;
  }
  if (!s.linked()) work_.push_back(s);
}

// Of a paused source. If its descriptor was never registered, the edge of registration tells the state.
void epoll_loop::watch_hangup(source_state& s) noexcept {
  if (!s.receiver || !s.receiver->watches_hangup) return;
  watch& w = watch_of(s.on);
  if (!w.registered) static_cast<void>(watch_for_edges(s.on, w));  // failed: the end is known after the pause
  else if (w.peer_is_done) s.receiver->hung_up();
}

void epoll_loop::serve_accept(source_state& s) noexcept {
  for (int i = 0; i < accepts_per_turn; ++i) {
    const std::int64_t h = accept_one(s.on);
    if (h == -EAGAIN) return park(s);
    if (h >= 0) {
      delivered_ = true;
      ++stats_.completions;
      not_exhausted();
      s.acceptor->accepted(static_cast<handle>(h));
      if (s.stopping) return;
    } else if (is_exhaustion(static_cast<int>(-h))) {
      exhausted(static_cast<int>(-h));
      s.pausing = true;
      pausing_.push_back({&s, deadline_after(now(), accept_pause_time)});
      return;
    } else if (!is_fault_of_one_connection(static_cast<int>(-h))) {
      return end(s, h);
    }
  }
  work_.push_back(s);
}

void epoll_loop::resume_paused() noexcept {
  if (pausing_.empty()) return;
  const time_point at = now();
  for (std::size_t i = pausing_.size(); i-- > 0;) {
    source_state* const s = pausing_[i].of;
    if (pausing_[i].until > at) continue;
    pausing_.erase(pausing_.begin() + static_cast<std::ptrdiff_t>(i));
    s->pausing = false;
    work_.push_back(*s);
  }
}

}  // namespace coracle::runtime_internal
