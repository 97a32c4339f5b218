#include "runtime/kernel/deadline_timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>
#include <cstdint>
#include <utility>

namespace coracle::runtime_internal {

bool deadline_timer::open() noexcept {
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  armed_ = never;
  return timer_ >= 0;
}

void deadline_timer::close() noexcept {
  if (timer_ >= 0) ::close(std::exchange(timer_, no_handle));
}

bool deadline_timer::set(time_point deadline, time_point now, counters& stats) noexcept {
  if (deadline <= now) return false;
  if (deadline == armed_) return true;
  armed_ = deadline;
  itimerspec at{};
  if (deadline != never) {
    const std::int64_t ns = deadline.time_since_epoch().count();
    at.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  }
  ++stats.system_calls;
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr);
  return true;
}

}  // namespace coracle::runtime_internal
