// barrier: so many tasks wait for each other, again and again.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <optional>

namespace coracle {

// Lives on one loop, whose tasks alone may call it; nothing is atomic. A phase ends with the arrival of
// the last of `parties` tasks, and the next phase begins with that.
//
// The last to arrive goes on without suspending; the others resume through the loop's queue, in the
// order in which they arrived, after the current work.
// A stop of a waiter's environment throws coro::cancelled out of its await and takes its arrival
// back: the phase then waits for another. A stop after the phase has ended does not undo it. A
// task that will not come again says so by drop().
class barrier {
 public:
  explicit barrier(std::size_t parties) noexcept : parties_(parties) {
    CORACLE_ASSERT(parties != 0, "a barrier for nobody: give it the number of tasks that arrive");
  }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;
  ~barrier() {
    CORACLE_ASSERT(waiters_.empty(), "a barrier was destroyed while tasks wait at it: join them first");
  }

  class [[nodiscard]] awaiter {
   public:
    explicit awaiter(barrier& b) noexcept : barrier_(b) {}
    [[nodiscard]] bool await_ready() noexcept {
      CORACLE_ASSERT(barrier_.parties_ != 0,
                     "arrived at a barrier that all have dropped: drop() once a task, at its end");
      if (barrier_.arrived_ + 1 != barrier_.parties_) return false;
      barrier_.end_phase();
      return true;
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      if (!wait_.emplace(barrier_).start(barrier_.waiters_, h, coro::environment_of(h).stop)) return false;
      ++barrier_.arrived_;
      return true;
    }
    // True for one task a phase, the last to arrive: for work that is to be done once.
    bool await_resume() const {
      if (wait_) wait_->throw_if_stopped();
      return !wait_;
    }

   private:
    friend class barrier;
    struct arrival : coro::waiter {
      explicit arrival(barrier& b) noexcept : coro::waiter(&arrival::take_back), at(b) {}
      static void take_back(coro::waiter& w) noexcept {
        --static_cast<arrival&>(w).at.arrived_;
        w.resume_soon();
      }
      barrier& at;
    };
    barrier& barrier_;
    std::optional<arrival> wait_;
  };
  awaiter arrive_and_wait() noexcept { return awaiter(*this); }

  // One party fewer, from this phase on, which ends if all others have arrived.
  void drop() noexcept {
    CORACLE_ASSERT(parties_ != arrived_,
                   "dropped out of a barrier that has no party left to come: drop() once a task");
    if (--parties_ == arrived_) end_phase();
  }
  [[nodiscard]] std::size_t parties() const noexcept { return parties_; }
  [[nodiscard]] std::size_t arrived() const noexcept { return arrived_; }

 private:
  void end_phase() noexcept {
    arrived_ = 0;
    while (coro::waiter* w = waiters_.pop_front()) w->resume_soon();
  }
  coro::waiter_queue waiters_;
  std::size_t parties_;
  std::size_t arrived_ = 0;
};

}  // namespace coracle
