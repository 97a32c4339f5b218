#include "runtime/uring/uring_loop.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/file_calls.hpp"
#include "runtime/kernel/kernel_backend.hpp"
#include "runtime/kernel/stream_calls.hpp"
#include "runtime/stall_detector.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace coracle::runtime_internal {

namespace {
// Flags that no kernel knows: requests with them fail with EINVAL, as on a kernel without the feature in
// question.
constexpr unsigned unknown_poll_flag = 1u << 15;
constexpr unsigned unknown_receive_flag = 1u << 15;
}  // namespace

uring_faults& injected_faults() noexcept {
  static constinit uring_faults only;
  return only;
}

std::unique_ptr<backend> make_uring_backend(logger& log, std::string& reason, const uring_faults& faults) {
  ring_refusal refusal;
  std::unique_ptr<ring> made = ring::make(faults, refusal);
  if (!made) {
    reason = refusal.text();
    return nullptr;
  }
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) {
    reason = "eventfd: " + describe_error(errno);
    return nullptr;
  }
  return std::make_unique<uring_loop>(log, event, std::move(made), faults);
}

uring_loop::uring_loop(logger& log, handle event, std::unique_ptr<ring> on, const uring_faults& faults)
    : kernel_backend(log, event),
      ring_(std::move(on)),
      faults_(faults),
      poll_first_(IORING_RECVSEND_POLL_FIRST | (faults.no_poll_first ? unknown_receive_flag : 0)) {
  const int provided = faults.no_buffer_ring ? -EINVAL : buffers_.provide(ring_->raw(), {});
  multishot_receive_ = provided == 0;
  if (provided < 0)
    log_.write(log_room::runtime, log_level::info,
               "io_uring without provided buffers: " + describe_error(-provided));
}

uring_loop::~uring_loop() {
  ring_.reset();  // before the buffers, which the kernel may still write to
  close_pollable();
}

// Returns a free entry. Submits a full queue first; if that fails because the completion queue is full, keeps
// its completions aside before.
io_uring_sqe& uring_loop::entry(std::uint64_t user_data) noexcept {
  io_uring_sqe* e = ring_->entry();
  while (!e) {
    if (!attached_ || left_) attach();
    ++stats_.system_calls;
    const int outcome = ring_->submit();
    CORACLE_ASSERT(outcome >= 0 || outcome == -EBUSY || outcome == -EAGAIN || outcome == -EINTR,
                   "io_uring rejected a submission: is this the thread that drives the loop?");
    if (outcome < 0) keep_completions();
    e = ring_->entry();
  }
  ++requests_;
  e->user_data = user_data;
  return *e;
}

void uring_loop::request_cancel(std::uint64_t user_data) noexcept {
  io_uring_sqe& e = entry(tag_of(tag::ignored));
  io_uring_prep_cancel64(&e, user_data, 0);
  e.user_data = tag_of(tag::ignored);
}

void uring_loop::keep_completions() noexcept {
  while (ring_->has_completion()) {
    kept_.push_back(ring_->take());
    if (!(kept_.back().flags & IORING_CQE_F_MORE)) --requests_;
    kept_.back().flags |= completion_was_counted;
  }
}

// Each write to the eventfd completes the multishot request again, so that the counter need not be read.
void uring_loop::listen_for_wakes() noexcept {
  io_uring_sqe& e = entry(tag_of(tag::wake));
  io_uring_prep_poll_add(&e, event_, POLLIN);
  if (multishot_poll_) e.len |= IORING_POLL_ADD_MULTI;
  if (multishot_poll_ && faults_.no_multishot_poll) e.len |= unknown_poll_flag;
  e.user_data = tag_of(tag::wake);
}

// Before Linux 5.13: one request per wake, and the counter must be read, or it would wake the loop again.
void uring_loop::woken(const completion& c) noexcept {
  event_is_set_ = true;
  if (c.flags & IORING_CQE_F_MORE) return;
  if (c.result == -EINVAL) multishot_poll_ = false;
  if (!multishot_poll_ && c.result > 0) {
    std::uint64_t wakes = 0;
    ++stats_.system_calls;
    [[maybe_unused]] const auto cleared = ::read(event_, &wakes, sizeof wakes);
  }
  listen_for_wakes();
}

void uring_loop::attach() noexcept {
  const bool first = !attached_;
  attached_ = true;
  if (left_ && ::gettid() != thread_) move_to_this_thread();
  left_ = false;
  thread_ = ::gettid();
  ring_->enable(!faults_.no_registered_ring);
  if (first) listen_for_wakes();
}

// Handles requests that runnables queued after release_thread() and before this thread first used the ring.
// They are treated as if release_thread() had cancelled them, so that they restart.
void uring_loop::keep_unsubmitted() noexcept {
  for (unsigned i = 0; i < ring_->queued(); ++i, --requests_) {
    const std::uint64_t of = ring_->queued_entry(i).user_data;
    if (tag_in(of) == tag::operation) record_never_began(*pointer_in<operation>(of));
    kept_.push_back({of, -ECANCELED, completion_was_counted});
  }
}

// The old ring holds nothing but the queued entries, because release_thread() has waited for all other
// requests.
void uring_loop::move_to_this_thread() noexcept {
  keep_unsubmitted();
  ring_.reset();
  close_pollable();  // made again for the new ring on demand
  wait_for_ring();
  if (multishot_receive_)
    multishot_receive_ =
        buffers_.provide(ring_->raw(), std::vector<completion>(kept_.begin(), kept_.end())) == 0;
}

// The kernel releases a closed ring's share of RLIMIT_MEMLOCK and its descriptor with a delay, and others may
// take them first. The loop cannot continue without a ring, since the operations in flight belong to this
// backend. It therefore waits as long as the error may be temporary, and logs that.
void uring_loop::wait_for_ring() noexcept {
  constexpr std::chrono::milliseconds longest(100);
  constexpr std::chrono::seconds patience(1);
  bool logged = false;
  const time_point began_at = now();
  std::chrono::milliseconds pause(1);
  ring_refusal reason;
  while (!(ring_ = ring::make(faults_, reason))) {
    CORACLE_ASSERT(reason.may_be_transient(),
                   "the kernel refused a ring to the thread that drives the loop now, "
                   "after it permitted one to the previous thread");
    if (!logged && now() - began_at > patience) {
      logged = true;
      log_.write(log_room::runtime, log_level::error,
                 "a loop on a new thread waits for its ring: " + reason.text());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest);
  }
  if (logged) log_.write(log_room::runtime, log_level::info, "the loop on a new thread has its ring");
}

void uring_loop::release_thread() noexcept {
  if (!attached_ || left_) return;
  while (requests_ > 0) {
    io_uring_sqe& e = entry(tag_of(tag::ignored));
    io_uring_prep_cancel64(&e, 0, IORING_ASYNC_CANCEL_ANY);
    e.user_data = tag_of(tag::ignored);
    ++stats_.system_calls;
    // Retries after a while, because one cancel misses a request that is just making progress.
    ring_->submit_and_wait(std::chrono::milliseconds(10));
    keep_completions();
  }
  ring_->unregister();
  left_ = true;
}

time_point uring_loop::earliest_pause_end(time_point until) const noexcept {
  for (const acceptor_state* s : pausing_) until = std::min(until, s->paused_until);
  return until;
}

void uring_loop::turn(time_point until) noexcept {
  ++stats_.turns;
  if (!attached_ || left_) attach();
  delivered_ = false;
  if (!kept_.empty()) deliver();
  serve_due();
  const bool more = delivered_ || !due_receivers_.empty() || !due_acceptors_.empty();
  enter(more || until == time_point::min() ? time_point::min() : earliest_pause_end(until));
  deliver();
}

void uring_loop::enter(time_point until) noexcept {
  int outcome = 0;
  if (until == time_point::min()) {
    if (ring_->queued() == 0 && !ring_->must_look()) return;
    ++stats_.system_calls;
    outcome = ring_->submit_and_look();
  } else {
    if (ring_->queued() == 0 && ring_->has_completion()) return;
    constexpr duration day = std::chrono::hours(24);
    ++stats_.system_calls;
    if (until != never) wait_began_ = now();
    outcome = ring_->submit_and_wait(until == never ? day : std::min(day, until - wait_began_));
  }
  CORACLE_ASSERT(outcome != -EEXIST && outcome != -EBADFD && outcome != -EBADF,
                 "two threads drive one loop: call leave() on the first before the second continues");
}

void uring_loop::deliver() noexcept {
  // Completions that the callbacks cause are delivered in the next turn. Only the ring's size limits the
  // first ones, so that a full ring is emptied.
  for (std::size_t n = kept_.size(); n > 0 && !kept_.empty(); --n) {
    const completion c = kept_.front();
    kept_.pop_front();
    dispatch(c);
  }
  for (unsigned n = io_uring_cq_ready(&ring_->raw()); n > 0 && ring_->has_completion(); --n)
    dispatch(ring_->take());
}

void uring_loop::dispatch(const completion& c) noexcept {
  if (!(c.flags & (IORING_CQE_F_MORE | completion_was_counted))) --requests_;
  const stall_detector::watch held(stalls_);
  switch (tag_in(c.user_data)) {
    case tag::operation: {
      operation& op = *pointer_in<operation>(c.user_data);
      if (op.type == operation::kind::receive) record_remainder(op.on, c);
      return completed(op, c.result);
    }
    case tag::receiver: return completed(*pointer_in<receiver_state>(c.user_data), c);
    case tag::acceptor: return completed(*pointer_in<acceptor_state>(c.user_data), c);
    case tag::wake: return woken(c);
    case tag::ignored: return;
  }
}

void uring_loop::close(handle h, bool abort) noexcept {
#ifndef NDEBUG
  for (const operation* op = operations_.first(); op; op = op->next)
    CORACLE_ASSERT(op->on != h, "a handle is closed after what was in flight on it has ended");
#endif
  close_socket(h, abort);
}

namespace {

// An entry's length has 32 bits, and a result 31: a longer request becomes a short read or write.
unsigned length_of(std::size_t size) noexcept {
  constexpr std::size_t most = std::size_t{1} << 30;
  return static_cast<unsigned>(std::min(size, most));
}

}  // namespace

void prepare_file(io_uring_sqe& e, const operation& op) noexcept {
  using action = file_request::action;
  const file_request& f = *op.file;
  switch (f.type) {
    case action::open: io_uring_prep_openat(&e, AT_FDCWD, f.path, f.flags, f.permissions); break;
    case action::read:
      io_uring_prep_read(&e, op.on, op.into.data(), length_of(op.into.size()), f.offset);
      break;
    case action::write:
      io_uring_prep_write(&e, op.on, op.pieces->data, length_of(op.pieces->size), f.offset);
      break;
    case action::sync: io_uring_prep_fsync(&e, op.on, 0); break;
    case action::sync_data: io_uring_prep_fsync(&e, op.on, IORING_FSYNC_DATASYNC); break;
    case action::size:
      io_uring_prep_statx(&e, op.on, "", AT_EMPTY_PATH, STATX_SIZE,
                          reinterpret_cast<struct statx*>(op.into.data()));
      break;
  }
}

// --- multishot sources

namespace {

constexpr std::size_t hand_buffer_bytes = 64 * 1024;
constexpr int reads_by_hand_max = 4;  // of one source in a row
constexpr std::uint32_t receive_limit_bytes = 256 * 1024;  // of one source in a row, likewise
// No kernel knows this flag: the request fails with EINVAL, as on a kernel without multishot.
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
  ++stats_.submissions;
  io_uring_sqe& e = entry(0);
  if (s.by_hand) {
    io_uring_prep_poll_add(&e, s.on, POLLIN);
  } else {
    io_uring_prep_recv_multishot(&e, s.on, nullptr, 0, 0);
    if (faults_.no_multishot_receive) e.ioprio |= unknown_flag;
    e.flags |= IOSQE_BUFFER_SELECT;
    e.buf_group = 0;
    // Ends the request after this many bytes, so that other sources get their turn; it is then armed again.
    // liburing 2.3 has no function for this.
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
  s.hung_up = false;
  if (s.watching && !std::exchange(s.cancelling, true)) request_cancel(user_data_of(tag::receiver, s));
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
    ++stats_.completions;
    s.source->received(bytes);
    return;
  }
  const bool kept =
      !s.has_end && base::if_memory_allows([&] { s.held.emplace_back(bytes.begin(), bytes.end()); });
  if (!kept && !std::exchange(s.has_end, true))
    s.end = -ENOMEM;  // after a gap, no more bytes of the stream are passed on
  if (s.paused && s.armed && !s.by_hand && !std::exchange(s.cancelling, true))
    request_cancel(user_data_of(tag::receiver, s));
  if (kept) s.source->held_changed();
}

void uring_loop::completed(receiver_state& s, const completion& c) noexcept {
  if (!(c.flags & IORING_CQE_F_MORE)) s.armed = false;
  const std::int64_t result = c.result;
  if (std::exchange(s.watching, false)) {
    if (result != -ECANCELED && s.paused && !s.stopping) {
      s.hung_up = true;
      if (result > 0) s.source->hung_up();
    }
    return rearm_or_end(s);
  }
  if (c.flags & IORING_CQE_F_BUFFER) {
    if (result > 0) take_bytes(s, buffers_.filled(c));
    buffers_.give_back(c);
  }
  if (s.by_hand && result > 0) {
    if (!s.paused && !s.stopping) receive_by_hand(s);
  } else if (result == -EINVAL && s.limited) {
    receive_limit_ = s.limited = false;  // older than Linux 6.17
  } else if (result == -EINVAL && !s.by_hand) {
    multishot_receive_ = false;  // an old kernel: this source and later ones do not use it
    s.by_hand = true;
  } else if (result == -ENOTSOCK && !s.by_hand) {
    s.by_hand = true;
  } else if (result == 0 || (result < 0 && result != -ENOBUFS && result != -ECANCELED && result != -EINTR)) {
    s.has_end = true;
    s.end = result;
  }
  if (!s.armed) rearm_or_end(s);
}

void uring_loop::receive_by_hand(receiver_state& s) noexcept {
  if (!hand_buffer_) hand_buffer_.reset(new (std::nothrow) std::uint8_t[hand_buffer_bytes]);
  if (!hand_buffer_) {
    s.has_end = true;
    s.end = -ENOMEM;
    return;
  }
  for (int i = 0; i < reads_by_hand_max && !s.paused && !s.stopping; ++i) {
    ++stats_.system_calls;
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
    if (static_cast<std::size_t>(n) < hand_buffer_bytes) return;  // the next poll tells whether there is more
  }
}

// Decides what to do when no request is in the kernel.
void uring_loop::rearm_or_end(receiver_state& s) noexcept {
  if (s.stopping) return end(s, -ECANCELED);
  if (s.paused) return watch_hangup(s);
  if (!s.held.empty()) {
    if (!s.linked()) due_receivers_.push_back(s);
  } else if (s.has_end) {
    end(s, s.end);
  } else {
    arm(s);
  }
}

// No request is in the kernel, because bytes or the end have arrived during the pause.
void uring_loop::watch_hangup(receiver_state& s) noexcept {
  if (!s.source->watches_hangup || s.hung_up) return;
  if (s.has_end) {
    s.hung_up = true;
    return s.source->hung_up();
  }
  ++stats_.submissions;
  io_uring_sqe& e = entry(0);
  io_uring_prep_poll_add(&e, s.on, POLLRDHUP);
  e.user_data = user_data_of(tag::receiver, s);
  s.armed = s.watching = true;
  s.cancelling = false;
}

void uring_loop::end(receiver_state& s, std::int64_t result) noexcept {
  delivered_ = true;
  ended();
  ++stats_.completions;
  receive_source& source = *s.source;
  delete &s;
  source.state = nullptr;
  source.ended(result);
}

void uring_loop::start_accept(handle listener, accept_source& source) {
  pausing_.reserve(++acceptors_);  // reserved now, because a pause may be due to a lack of memory
  auto* s = new acceptor_state;
  began();
  s->on = listener;
  s->source = &source;
  s->single = !multishot_accept_;
  source.state = s;
  arm(*s);
}

void uring_loop::arm(acceptor_state& s) noexcept {
  ++stats_.submissions;
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
  std::erase(pausing_, &s);
  if (!s.linked()) due_acceptors_.push_back(s);
}

void uring_loop::completed(acceptor_state& s, const completion& c) noexcept {
  if (!(c.flags & IORING_CQE_F_MORE)) s.armed = false;
  if (c.result >= 0) {
    delivered_ = true;
    ++stats_.completions;
    not_exhausted();
    s.source->accepted(c.result);
  }
  if (!s.armed) rearm_or_end(s, c.result);
}

void uring_loop::rearm_or_end(acceptor_state& s, std::int64_t result) noexcept {
  const int error = result < 0 ? static_cast<int>(-result) : 0;
  if (s.stopping) return end(s, -ECANCELED);
  if (error == EINVAL && !s.single) {  // an old kernel, or not a listener: the single accept will tell
    s.single = true;
  } else if (is_exhaustion(error)) {
    exhausted(error);
    s.paused_until = deadline_after(now(), accept_pause_time);
    pausing_.push_back(&s);
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
  ++stats_.completions;
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
      ++stats_.completions;
      s->source->received(chunk);
    }
    if (held && !s->stopping) s->source->held_changed();
    if (!s->armed) rearm_or_end(*s);
  }
  base::intrusive_list<acceptor_state> acceptors;
  acceptors.take(due_acceptors_);
  while (acceptor_state* s = acceptors.pop_front()) end(*s, -ECANCELED);
  if (pausing_.empty()) return;
  const time_point at = now();
  for (std::size_t i = pausing_.size(); i-- > 0;) {
    acceptor_state* s = pausing_[i];
    if (s->paused_until > at) continue;
    pausing_.erase(pausing_.begin() + static_cast<std::ptrdiff_t>(i));
    arm(*s);
  }
}

// --- single operations

namespace {

// Values of scratch::flags.
constexpr std::uint64_t no_socket = 4;  // polled, then read or written by a system call
constexpr std::uint64_t polled_first = 8;  // with IORING_RECVSEND_POLL_FIRST
constexpr std::uint64_t never_began = 16;  // was queued in a ring that no longer exists

bool has(const operation& op, std::uint64_t flag) noexcept { return op.scratch[scratch::flags] & flag; }

bool waits_for_output(const operation& op) noexcept {
  return op.type == operation::kind::connect || op.type == operation::kind::send ||
         op.type == operation::kind::send_to;
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

// Polling first avoids a futile attempt; bytes that have arrived since are still found.
void prepare_receive(io_uring_sqe& e, operation& op, unsigned poll_first) noexcept {
  io_uring_prep_recv(&e, op.on, op.into.data(), op.into.size(), 0);
  e.ioprio |= static_cast<std::uint16_t>(poll_first);
  if (poll_first) op.scratch[scratch::flags] |= polled_first;
}

}  // namespace

void uring_loop::submit(operation& op) noexcept {
  began();
  op.scratch[scratch::flags] = op.no_socket ? no_socket | scratch::waiting : 0;
  if (op.type == operation::kind::send) send_progress::begin(op);
  operations_.push(op);
  prepare(op);
}

void uring_loop::record_never_began(operation& op) noexcept { op.scratch[scratch::flags] |= never_began; }

void uring_loop::cancel(operation& op) noexcept {
  op.scratch[scratch::flags] |= scratch::cancelled;
  request_cancel(user_data_of(tag::operation, op));
}

void uring_loop::prepare(operation& op) noexcept {
  ++stats_.submissions;
  io_uring_sqe& e = entry(0);
  if (has(op, scratch::waiting)) {
    io_uring_prep_poll_add(&e, op.on, waits_for_output(op) ? POLLOUT : POLLIN);
  } else {
    switch (op.type) {
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

void uring_loop::record_remainder(handle h, const completion& c) noexcept {
  const auto i = static_cast<std::size_t>(h);
  if (drained_.size() <= i && !base::if_memory_allows([&] { drained_.resize(i + 1); })) return;
  drained_[i] = c.result > 0 && !(c.flags & IORING_CQE_F_SOCK_NONEMPTY);
}

bool uring_loop::is_drained(handle h) const noexcept {
  const auto i = static_cast<std::size_t>(h);
  return i < drained_.size() && drained_[i];
}

// io_uring could read a pipe itself, but a write to a broken pipe raises SIGPIPE, and a write to a blocking
// pipe occupies a kernel thread.
std::int64_t uring_loop::move_by_hand(operation& op) noexcept {
  ++stats_.system_calls;
  if (op.type == operation::kind::receive) return kernel::read_now(op.on, op.into);
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
  // Cancelled by release_thread(), or interrupted, but not cancelled by the caller: restarts the operation.
  if ((result == -ECANCELED || result == -EINTR) && !cancelled) {
    const bool began = !(flags & never_began);
    flags &= ~never_began;
    if (op.type == operation::kind::connect && began)
      flags |= scratch::waiting;  // a second connect() would be refused
    return prepare(op);
  }
  if (result == -EINTR) result = -ECANCELED;
  if (op.type == operation::kind::connect) return completed_connect(op, result);
  if (flags & scratch::waiting) {
    flags &= ~scratch::waiting;
    if (result < 0 || cancelled) return finish(op, cancelled ? -ECANCELED : result);
    if (!(flags & no_socket)) return prepare(op);
    result = move_by_hand(op);
  }
  switch (op.type) {
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
      if (op.type == operation::kind::receive || result < 0) break;
      if (send_progress& progress = send_progress::of(op); !progress.advance(op, result)) {
        if (cancelled) return finish(op, -ECANCELED);
        if (result == 0) return finish(op, -EIO);  // avoids an endless retry
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
    ++stats_.system_calls;
    result = ::getsockopt(op.on, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
  }
  if (result == -EAGAIN)
    result = -ECONNREFUSED;  // UNIX: the listener's queue is full, and no event reports when it has room
  finish(op, result);
}

// --- the descriptor that another event loop polls

// The ring's own descriptor does not become readable for deferred work. An eventfd registered with the ring
// does, but not for a write to another eventfd, since the kernel does not nest their signals: event_ is
// therefore watched itself. must_look() shows what arrived before both were read.
int uring_loop::pollable(time_point next_deadline) noexcept {
  if (!attached_ || left_) attach();
  if (poll_ < 0 && !make_pollable()) return -1;
  clear(ring_event_);
  // A write to event_ completes a request of the ring, so that a turn has seen it, or will.
  if (std::exchange(event_is_set_, false)) clear(event_);
  if (ring_->queued() > 0) {
    ++stats_.system_calls;
    ring_->submit();
  }
  const bool work = !kept_.empty() || !due_receivers_.empty() || !due_acceptors_.empty() ||
                    ring_->has_completion() || ring_->must_look();
  if (work || !deadline_.set(earliest_pause_end(next_deadline), now(), stats_)) {
    constexpr std::uint64_t one = 1;
    ++stats_.system_calls;
    [[maybe_unused]] const auto written = ::write(ring_event_, &one, sizeof one);
  }
  return poll_;
}

void uring_loop::clear(handle event) noexcept {
  std::uint64_t signals = 0;
  ++stats_.system_calls;
  [[maybe_unused]] const auto cleared = ::read(event, &signals, sizeof signals);
}

bool uring_loop::make_pollable() noexcept {
  event_is_set_ = true;  // perhaps, by wakes of turns so far
  ring_event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event e{};
  e.events = EPOLLIN;
  const bool made = deadline_.open() && ring_event_ >= 0 && poll_ >= 0 &&
                    io_uring_register_eventfd(&ring_->raw(), ring_event_) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, deadline_.descriptor(), &e) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, ring_event_, &e) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, event_, &e) == 0;
  if (!made) close_pollable();
  return made;
}

void uring_loop::close_pollable() noexcept {
  deadline_.close();
  for (handle* h : {&ring_event_, &poll_})
    if (*h >= 0) ::close(std::exchange(*h, no_handle));
}

}  // namespace coracle::runtime_internal
