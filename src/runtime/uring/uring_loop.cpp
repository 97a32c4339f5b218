#include "runtime/uring/uring_loop.hpp"

#include "runtime/stall_detector.hpp"
#include "runtime/uring/user_data.hpp"

#include "coracle/base/assert.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace coracle::io {

std::unique_ptr<backend> make_uring_backend(logger& log, std::string& why, const uring_faults& faults) {
  std::unique_ptr<ring> made = ring::make(faults, why);
  if (!made) return nullptr;
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) {
    why = "eventfd: " + describe_error(errno);
    return nullptr;
  }
  return std::make_unique<uring_loop>(log, event, std::move(made), faults);
}

uring_loop::uring_loop(logger& log, handle event, std::unique_ptr<ring> on, const uring_faults& faults)
    : kernel_backend(log, event), ring_(std::move(on)), faults_(faults) {
  const int provided = faults.no_buffer_ring ? -EINVAL : buffers_.provide(ring_->raw(), {});
  multishot_receive_ = provided == 0;
  if (provided < 0)
    log_.write(log_level::info, "io_uring without provided buffers: " + describe_error(-provided));
}

uring_loop::~uring_loop() {
  ring_.reset();  // before the buffers that the kernel may still write into
  close_pollable();
}

// A free entry. A full queue is submitted; when that cannot be, since completions fill the other
// queue, these are kept aside first.
io_uring_sqe& uring_loop::entry(std::uint64_t user_data) noexcept {
  io_uring_sqe* e = ring_->entry();
  while (!e) {
    if (!attached_ || left_) attach();
    ++counted_.system_calls;
    const int outcome = ring_->submit();
    CORACLE_ASSERT(outcome >= 0 || outcome == -EBUSY || outcome == -EAGAIN || outcome == -EINTR,
                   "io_uring does not take what is submitted: is this the thread that drives the loop?");
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

// Each write is a completion, so that the counter need not be read.
void uring_loop::listen_for_wakes() noexcept {
  io_uring_sqe& e = entry(tag_of(tag::wake));
  io_uring_prep_poll_multishot(&e, event_, POLLIN);
  e.user_data = tag_of(tag::wake);
}

void uring_loop::attach() noexcept {
  const bool first = !attached_;
  attached_ = true;
  if (left_ && ::gettid() != thread_) move_to_this_thread();
  left_ = false;
  thread_ = ::gettid();
  ring_->enable();
  if (first) listen_for_wakes();
}

// What was queued since leave(), by works that ran before this thread's first look at the ring: as if leave()
// had cancelled it, so that it starts anew.
void uring_loop::keep_unsubmitted() noexcept {
  for (unsigned i = 0; i < ring_->queued(); ++i, --requests_)
    kept_.push_back({ring_->queued_entry(i).user_data, -ECANCELED, completion_was_counted});
}

// Nothing is in the old ring but that: leave() saw to it.
void uring_loop::move_to_this_thread() noexcept {
  keep_unsubmitted();
  ring_.reset();
  close_pollable();  // made anew for the new ring when somebody asks
  std::string why;
  for (int attempts = 0; !ring_ && attempts < 100; ++attempts) {
    ring_ = ring::make({}, why);
    // The kernel gives a closed ring's share of RLIMIT_MEMLOCK back a moment later.
    if (!ring_) ::usleep(10'000);
  }
  if (!ring_) log_.write(log_level::error, why);
  CORACLE_ASSERT(ring_, "the kernel refuses a new ring for the thread that drives the loop now");
  if (multishot_receive_)
    multishot_receive_ =
        buffers_.provide(ring_->raw(), std::vector<completion>(kept_.begin(), kept_.end())) == 0;
}

void uring_loop::leave() noexcept {
  if (!attached_ || left_) return;
  while (requests_ > 0) {
    io_uring_sqe& e = entry(tag_of(tag::ignored));
    io_uring_prep_cancel64(&e, 0, IORING_ASYNC_CANCEL_ANY);
    e.user_data = tag_of(tag::ignored);
    ++counted_.system_calls;
    // Again after a while: a request that just moves on escapes one cancel.
    ring_->submit_and_wait(std::chrono::milliseconds(10));
    keep_completions();
  }
  ring_->let_go();
  left_ = true;
}

time_point uring_loop::earliest_rest(time_point until) const noexcept {
  for (const acceptor_state* s : resting_) until = std::min(until, s->rests_until);
  return until;
}

void uring_loop::turn(time_point until) noexcept {
  ++counted_.turns;
  if (!attached_ || left_) attach();
  delivered_ = false;
  if (!kept_.empty()) deliver();
  serve_due();
  const bool more = delivered_ || !due_receivers_.empty() || !due_acceptors_.empty();
  enter(more || until == time_point::min() ? time_point::min() : earliest_rest(until));
  deliver();
}

void uring_loop::enter(time_point until) noexcept {
  int outcome = 0;
  if (until == time_point::min()) {
    if (ring_->queued() == 0 && !ring_->must_look()) return;
    ++counted_.system_calls;
    outcome = ring_->submit_and_look();
  } else {
    if (ring_->queued() == 0 && ring_->has_completion()) return;
    constexpr duration day = std::chrono::hours(24);
    ++counted_.system_calls;
    outcome = ring_->submit_and_wait(until == never ? day : std::min(day, until - now()));
  }
  CORACLE_ASSERT(outcome != -EEXIST && outcome != -EBADFD && outcome != -EBADF,
                 "a loop is driven by one thread at a time, which calls leave() before another goes on");
}

void uring_loop::deliver() noexcept {
  // What the callbacks bring about comes in the next turn; only the first ones are bounded by nothing
  // but the ring, so that a full ring is emptied.
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
      if (op.what == operation::kind::receive) note_rest(op.on, c);
      return completed(op, c.result);
    }
    case tag::receiver: return completed(*pointer_in<receiver_state>(c.user_data), c);
    case tag::acceptor: return completed(*pointer_in<acceptor_state>(c.user_data), c);
    case tag::wake:
      if (!(c.flags & IORING_CQE_F_MORE)) listen_for_wakes();
      return;
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

// A descriptor of the ring's own would not tell of deferred work; an eventfd that is registered with it does, but
// not of a write to another eventfd, since the kernel does not nest their signals: event_ is watched itself. What
// came before both were read shows in must_look().
int uring_loop::pollable(time_point next_deadline) noexcept {
  if (!attached_ || left_) attach();
  if (poll_ < 0 && !make_pollable()) return -1;
  for (const handle h : {ring_event_, event_}) {
    std::uint64_t signals = 0;
    [[maybe_unused]] const auto cleared = ::read(h, &signals, sizeof signals);
  }
  if (ring_->queued() > 0) ring_->submit();
  const bool work = !kept_.empty() || !due_receivers_.empty() || !due_acceptors_.empty() ||
                    ring_->has_completion() || ring_->must_look();
  next_deadline = work ? time_point(duration(1)) : earliest_rest(next_deadline);
  itimerspec at{};
  if (next_deadline != never) {
    const auto ns = std::max<std::int64_t>(next_deadline.time_since_epoch().count(), 1);
    at.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  }
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
  return poll_;
}

bool uring_loop::make_pollable() noexcept {
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  ring_event_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  poll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event e{};
  e.events = EPOLLIN;
  const bool made = timer_ >= 0 && ring_event_ >= 0 && poll_ >= 0 &&
                    io_uring_register_eventfd(&ring_->raw(), ring_event_) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, timer_, &e) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, ring_event_, &e) == 0 &&
                    ::epoll_ctl(poll_, EPOLL_CTL_ADD, event_, &e) == 0;
  if (!made) close_pollable();
  return made;
}

void uring_loop::close_pollable() noexcept {
  for (handle* h : {&timer_, &ring_event_, &poll_})
    if (*h >= 0) ::close(std::exchange(*h, no_handle));
}

}  // namespace coracle::io
