#include "runtime/uring/uring_loop.hpp"

#include "runtime/stall_detector.hpp"
#include "runtime/uring/user_data.hpp"

#include "coracle/base/impl/assert.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

namespace coracle::runtime_internal {

namespace {
// No kernel knows them: requests with them fail with EINVAL, as they do where what they stand for is unknown.
constexpr unsigned unknown_poll_flag = 1u << 15;
constexpr unsigned unknown_receive_flag = 1u << 15;
}  // namespace

uring_faults& injected_faults() noexcept {
  static constinit uring_faults only;
  return only;
}

std::unique_ptr<backend> make_uring_backend(logger& log, std::string& why, const uring_faults& faults) {
  ring_refusal refusal;
  std::unique_ptr<ring> made = ring::make(faults, refusal);
  if (!made) {
    why = refusal.text();
    return nullptr;
  }
  const int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) {
    why = "eventfd: " + describe_error(errno);
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

// Each write is a completion of the one request, so that the counter need not be read.
void uring_loop::listen_for_wakes() noexcept {
  io_uring_sqe& e = entry(tag_of(tag::wake));
  io_uring_prep_poll_add(&e, event_, POLLIN);
  if (multishot_poll_) e.len |= IORING_POLL_ADD_MULTI;
  if (multishot_poll_ && faults_.no_multishot_poll) e.len |= unknown_poll_flag;
  e.user_data = tag_of(tag::wake);
}

// Before Linux 5.13: one request a wake, and the counter is read, lest it wake again.
void uring_loop::woken(const completion& c) noexcept {
  if (c.flags & IORING_CQE_F_MORE) return;
  if (c.result == -EINVAL) multishot_poll_ = false;
  if (!multishot_poll_ && c.result > 0) {
    std::uint64_t wakes = 0;
    ++counted_.system_calls;
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

// What was queued since leave(), by works that ran before this thread's first look at the ring: as if leave()
// had cancelled it, so that it starts anew.
void uring_loop::keep_unsubmitted() noexcept {
  for (unsigned i = 0; i < ring_->queued(); ++i, --requests_) {
    const std::uint64_t of = ring_->queued_entry(i).user_data;
    if (tag_in(of) == tag::operation) note_never_began(*pointer_in<operation>(of));
    kept_.push_back({of, -ECANCELED, completion_was_counted});
  }
}

// Nothing is in the old ring but that: leave() saw to it.
void uring_loop::move_to_this_thread() noexcept {
  keep_unsubmitted();
  ring_.reset();
  close_pollable();  // made anew for the new ring when somebody asks
  wait_for_ring();
  if (multishot_receive_)
    multishot_receive_ =
        buffers_.provide(ring_->raw(), std::vector<completion>(kept_.begin(), kept_.end())) == 0;
}

// The kernel gives a closed ring's share of RLIMIT_MEMLOCK and its descriptor back a moment later, and
// others may take them first. The loop has nothing else to go on with: what is in flight belongs to this
// backend. So it waits for as long as that may pass, and says so.
void uring_loop::wait_for_ring() noexcept {
  constexpr std::chrono::milliseconds longest(100);
  constexpr std::chrono::seconds patience(1);
  bool said = false;
  const time_point began_at = now();
  std::chrono::milliseconds pause(1);
  ring_refusal why;
  while (!(ring_ = ring::make(faults_, why))) {
    CORACLE_ASSERT(why.may_pass(),
                   "the kernel refuses a ring to the thread that drives the loop now, "
                   "though it gave one to the thread before");
    if (!said && now() - began_at > patience) {
      said = true;
      log_.write(log_level::error, "a loop on a new thread waits for its ring: " + why.text());
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest);
  }
  if (said) log_.write(log_level::info, "the loop has its ring");
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

}  // namespace coracle::runtime_internal
