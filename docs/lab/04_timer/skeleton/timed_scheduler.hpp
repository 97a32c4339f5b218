// A scheduler with timers. Its clock is an interface, so that a test can let hours pass in no time.
#pragma once

#include "../../03_scheduler/solution/scheduler.hpp"

#include <chrono>
#include <coroutine>
#include <map>
#include <thread>

namespace lab {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

class clock {
 public:
  virtual ~clock() = default;
  virtual time_point now() = 0;
  virtual void wait_until(time_point when) = 0;
};

class real_clock final : public clock {
 public:
  time_point now() override { return std::chrono::steady_clock::now(); }
  void wait_until(time_point when) override { std::this_thread::sleep_until(when); }
};

class timed_scheduler : public scheduler {
 public:
  explicit timed_scheduler(clock& c) noexcept : clock_(c) {}

  class sleep_awaiter {
   public:
    sleep_awaiter(timed_scheduler& on, time_point when) noexcept : on_(on), when_(when) {}
    // Step 1: do not wait for a time that has passed; else put the coroutine among the sleepers.
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() const noexcept {}

   private:
    [[maybe_unused]] timed_scheduler& on_;
    [[maybe_unused]] time_point when_;
  };
  sleep_awaiter sleep_until(time_point when) noexcept { return sleep_awaiter(*this, when); }
  sleep_awaiter sleep_for(duration d) { return sleep_awaiter(*this, clock_.now() + d); }

 protected:
  // Step 3: without sleepers there is nothing to wait for. Else wait until the earliest of them is due.
  bool wait_for_events() override { return false; }

 private:
  // All sleepers whose time has come, earliest first.
  // Step 2: hand them to resume_later(), and erase them.
  void resume_due() {}

  clock& clock_;
  std::multimap<time_point, std::coroutine_handle<>>
      sleepers_;  // of the same time: in the order of their arrival
};

}  // namespace lab
