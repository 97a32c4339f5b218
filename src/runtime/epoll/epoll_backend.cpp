#include "runtime/epoll/epoll_backend.hpp"

#include "runtime/epoll/epoll_loop.hpp"
#include "runtime/kernel/kernel_backend.hpp"
#include "runtime/stall_detector.hpp"

#include "coracle/base/impl/assert.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::runtime_internal {

namespace {

constexpr int events_per_turn = 256;
// After a turn that completed something without asking epoll, the loop first acts on it; this often
// in a row, so that descriptors get their chance beside a sender that never has to wait, and not
// after so many bytes, which have cost more than to ask.
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

epoll_loop::~epoll_loop() {
  if (timer_ >= 0) ::close(timer_);
  ::close(poll_);
}

watch& epoll_loop::make_watch(handle h) {
  CORACLE_ASSERT(h >= 0, "an operation needs a handle");
  const auto i = static_cast<std::size_t>(h);
  const std::size_t row = i / watches_a_row;
  if (watches_.size() <= row) watches_.resize(row + 1);
  if (!watches_[row]) watches_[row] = std::make_unique<watch[]>(watches_a_row);
  return watches_[row][i % watches_a_row];
}

// Registers the descriptor if it is not yet. Called after an attempt said EAGAIN: epoll reports at
// once what has become ready since. 0 or -errno.
int epoll_loop::watch_for_edges(handle h, watch& w) noexcept {
  if (w.registered) return 0;
  epoll_event e{};
  e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  e.data.u64 = std::uint64_t{w.generation} << 32 | static_cast<std::uint32_t>(h);
  ++counted_.system_calls;
  int outcome = ::epoll_ctl(poll_, EPOLL_CTL_ADD, h, &e);
  // Left over from a descriptor that lives on elsewhere, as a duplicate.
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
  watch& w = watch_of(h);
  if (!w.registered || !w.idle()) return;  // in use by another object of the program's still
  epoll_event unused{};
  ++counted_.system_calls;
  ::epoll_ctl(poll_, EPOLL_CTL_DEL, h, &unused);
  w.registered = w.peer_is_done = w.drained = false;
  ++w.generation;
}

void epoll_loop::turn(time_point until) noexcept {
  ++counted_.turns;
  wake_rested();
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
    for (const resting& r : resting_) until = std::min(until, r.until);
  epoll_event events[events_per_turn];
  const bool wait_at_all = until != time_point::min();
  const bool for_ever = until == never;
  const duration left = wait_at_all && !for_ever ? until - now() : duration::zero();
  const timespec t = to_timespec(left);
  ++counted_.system_calls;
  int n = -1;
  if (precise_) {
    n = ::epoll_pwait2(poll_, events, events_per_turn, for_ever ? nullptr : &t, nullptr);
    if (n < 0 && (errno == ENOSYS || errno == EPERM))
      precise_ = false;  // older than Linux 5.11, or hidden by seccomp
  }
  if (!precise_) {
    constexpr std::int64_t day_ms = 86'400'000;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(left, duration::zero())).count();
    n = ::epoll_wait(poll_, events, events_per_turn,
                     for_ever ? -1 : static_cast<int>(std::min<std::int64_t>(ms, day_ms)));
  }
  for (int i = 0; i < n; ++i) take_event(events[i].data.u64, events[i].events);
}

// Acts on it at once: a descriptor's state is fetched into the cache once, however many others are ready.
void epoll_loop::take_event(std::uint64_t of, std::uint32_t what) noexcept {
  if (of == own_event) return;
  watch& w = watch_of(static_cast<handle>(static_cast<std::uint32_t>(of)));
  const auto generation = static_cast<std::uint32_t>(of >> 32);
  if (w.generation != generation) return;
  if (what & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) w.peer_is_done = true;
  if (what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) {
    w.drained = false;
    attempt_all(w, w.readers);
    if (w.generation != generation) return;  // closed by one of these
    if (source_state* s = w.source; s && !s->linked() && !s->resting) {
      const stall_detector::watch held(stalls_);
      serve(*s);
    }
  }
  if (w.generation == generation && what & (EPOLLOUT | EPOLLHUP | EPOLLERR)) attempt_all(w, w.writers);
}

int epoll_loop::pollable(time_point next_deadline) noexcept {
  if (timer_ < 0) {
    timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;
    e.data.u64 = own_event;
    if (timer_ < 0 || ::epoll_ctl(poll_, EPOLL_CTL_ADD, timer_, &e) < 0) return -1;
  }
  for (const resting& r : resting_) next_deadline = std::min(next_deadline, r.until);
  itimerspec at{};
  if (!pending_.empty() || !work_.empty()) at.it_value.tv_nsec = 1;  // a time that has passed
  else if (next_deadline != never)
    at.it_value = to_timespec(std::max(next_deadline.time_since_epoch(), duration(1)));
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
  return poll_;
}

}  // namespace coracle::runtime_internal
