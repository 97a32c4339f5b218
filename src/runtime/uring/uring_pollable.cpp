// One descriptor for a foreign event loop to poll, over io_uring.
#include "runtime/uring/uring_loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <algorithm>
#include <utility>

namespace coracle::runtime_internal {

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

}  // namespace coracle::runtime_internal
