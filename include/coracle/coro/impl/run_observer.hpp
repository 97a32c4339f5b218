// run_observer: is notified of what a thread runs, to account the time to the work that it is for.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <utility>

namespace coracle::coro {

class tree_node;

// Belongs to one executor, which has at most one (executor::observe_runs()), and none while nothing is
// measured: a thread without one pays a test per notification.
class run_observer {
 public:
  // A coroutine of the library has been resumed, or did not have to wait. It runs until another one is
  // resumed, or until returned().
  virtual void resumed(const tree_node& node) noexcept = 0;
  // A runnable, timer or completion has ended; control is back at the executor.
  virtual void returned() noexcept = 0;

  // Replaces the observer of this thread: that of the executor which the thread begins or ceases to drive.
  static run_observer* exchange(run_observer* o) noexcept { return std::exchange(current_, o); }
  static void notify_resumed(const tree_node& node) noexcept {
    if (current_) [[unlikely]]
      current_->resumed(node);
  }
  static void notify_returned() noexcept {
    if (current_) [[unlikely]]
      current_->returned();
  }

 protected:
  ~run_observer() = default;

 private:
  [[gnu::visibility("default")]] static inline constinit thread_local run_observer* current_ = nullptr;
};

}  // namespace coracle::coro
