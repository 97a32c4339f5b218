// manual_executor: an executor whose queue and clock a test drives by hand. One thread.
#pragma once

#include "base/intrusive_queue.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <algorithm>
#include <coroutine>
#include <exception>
#include <optional>
#include <vector>

namespace coracle::test {

class manual_executor final : public coro::executor {
 public:
  manual_executor() : inside_(*this) {}  // current for as long as it lives

  void post(coro::runnable& w) noexcept override { ready_.push(w); }
  void at_turn_end(coro::runnable& w) noexcept override { ready_.push(w); }
  void arm(coro::timer& t, time_point when) noexcept override {
    disarm(t);
    t.when = when;
    t.holder = this;
    timers_.push_back(&t);
  }
  void disarm(coro::timer& t) noexcept override {
    std::erase(timers_, &t);
    t.holder = nullptr;
  }
  [[nodiscard]] time_point now() const noexcept override { return now_; }

  // Runs queued and due work until none is left.
  void run() {
    for (;;) {
      if (coro::runnable* w = ready_.pop()) {
        w->run(*w);
        continue;
      }
      const auto due = std::min_element(timers_.begin(), timers_.end(),
                                        [](auto* a, auto* b) { return a->when < b->when; });
      if (due == timers_.end() || (*due)->when > now_) return;
      coro::timer& t = **due;
      disarm(t);
      t.fire(t);
    }
  }
  void advance(duration d) {
    now_ += d;
    run();
  }
  [[nodiscard]] bool idle() const noexcept { return ready_.empty() && timers_.empty(); }

 private:
  base::intrusive_queue<coro::runnable> ready_;
  std::vector<coro::timer*> timers_;
  time_point now_{std::chrono::seconds(1)};
  entry inside_;
};

// A task that was started by hand: the test owns it and observes whether it has ended.
class started final : coro::completion {
 public:
  explicit started(task<> t, const coro::environment& e = coro::no_environment) : frame_(t.release()) {
    frame_.promise().inherit(e);
    frame_.promise().set_completion(*this);
    coro::promise_base::begin(frame_, frame_.promise());
  }
  started(const started&) = delete;
  started& operator=(const started&) = delete;
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] std::exception_ptr error() const noexcept { return error_; }
  template <class E>
  [[nodiscard]] bool threw() const {
    if (!error_) return false;
    try {
      std::rethrow_exception(error_);
    } catch (const E&) {
      return true;
    } catch (...) {
      return false;
    }
  }

 private:
  std::coroutine_handle<> finished(coro::promise_base& p, std::coroutine_handle<> frame) noexcept override {
    error_ = static_cast<coro::task_promise<void>&>(p).error();
    ended_ = true;
    frame.destroy();
    return std::noop_coroutine();
  }
  task<>::handle frame_;
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace coracle::test
