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
    bool await_ready() const { return when_ <= on_.clock_.now(); }
    void await_suspend(std::coroutine_handle<> h) { on_.sleepers_.emplace(when_, h); }
    void await_resume() const noexcept {}

   private:
    timed_scheduler& on_;
    time_point when_;
  };
  sleep_awaiter sleep_until(time_point when) noexcept { return sleep_awaiter(*this, when); }
  sleep_awaiter sleep_for(duration d) { return sleep_awaiter(*this, clock_.now() + d); }

 protected:
  bool wait_for_events() override {
    if (sleepers_.empty()) return false;
    clock_.wait_until(sleepers_.begin()->first);
    resume_due();
    return true;
  }

 private:
  // All sleepers whose time has come, earliest first.
  void resume_due() {
    const time_point now = clock_.now();
    while (!sleepers_.empty() && sleepers_.begin()->first <= now) {
      resume_later(sleepers_.begin()->second);
      sleepers_.erase(sleepers_.begin());
    }
  }

  clock& clock_;
  std::multimap<time_point, std::coroutine_handle<>>
      sleepers_;  // of the same time: in the order of their arrival
};

}  // namespace lab
