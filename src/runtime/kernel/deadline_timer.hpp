// deadline_timer: the deadline of a loop as a descriptor, for pollable().
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal {

// A timerfd. It is readable from the deadline on, until set() sets another one.
class deadline_timer {
 public:
  deadline_timer() noexcept = default;
  deadline_timer(const deadline_timer&) = delete;
  deadline_timer& operator=(const deadline_timer&) = delete;
  ~deadline_timer() { close(); }

  // Returns false when the process has no descriptors left.
  [[nodiscard]] bool open() noexcept;
  void close() noexcept;
  [[nodiscard]] handle descriptor() const noexcept { return timer_; }
  // Returns false if the deadline has passed: the caller then makes another descriptor readable, because a
  // timer that expires at once costs an interrupt, which takes long in a virtual machine. Makes a system call
  // only if the deadline is another one than before.
  [[nodiscard]] bool set(time_point deadline, time_point now, counters& stats) noexcept;

 private:
  handle timer_ = no_handle;
  time_point armed_ = never;
};

}  // namespace coracle::runtime_internal
