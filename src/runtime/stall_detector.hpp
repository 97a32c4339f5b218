// stall_detector: logs runnables that hold a loop for too long.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/impl/run_observer.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::runtime_internal {

class backend;

// Part of a loop, if its runtime enables it; only for that loop's thread. Measures each work, timer and
// completion with the backend's clock, which it reads twice. In virtual time nothing ever stalls.
class stall_detector {
 public:
  stall_detector(loop& of, backend& clock, duration limit) noexcept : of_(of), clock_(clock), limit_(limit) {}
  stall_detector(const stall_detector&) = delete;
  stall_detector& operator=(const stall_detector&) = delete;

  // Measures one work until the end of the scope, and tells the run_observer that it has ended. Costs only
  // two tests when there is neither.
  class watch {
   public:
    explicit watch(stall_detector* by) noexcept : by_(by) {
      if (by_) began_ = by_->begin();
    }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch() {
      if (by_) by_->end(began_);
      coro::run_observer::notify_returned();
    }

   private:
    stall_detector* by_;
    time_point began_;
  };

 private:
  time_point begin() noexcept;
  void end(time_point began) noexcept;
  loop& of_;
  backend& clock_;
  const duration limit_;
};

}  // namespace coracle::runtime_internal
