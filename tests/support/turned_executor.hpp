// turned_executor: several executors on one thread, each current only while a test turns it. No timers.
#pragma once

#include "base/intrusive_queue.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>

namespace coracle::test {

// Work that is posted to one waits for its next turn, whichever thread posts it. A test can therefore
// hold work that is in transit between two executors at any point.
class turned_executor final : public coro::executor {
 public:
  turned_executor() = default;

  void post(coro::runnable& w) noexcept override {
    ready_.push(w);
    ++size_;
  }
  void at_turn_end(coro::runnable& w) noexcept override { post(w); }
  void arm(coro::timer&, time_point) noexcept override {}
  void disarm(coro::timer&) noexcept override {}
  [[nodiscard]] time_point now() const noexcept override { return {}; }

  // Runs the work that was posted until now.
  void turn() {
    const entry here(*this);
    for (std::size_t n = size_; n != 0; --n) {
      coro::runnable* w = ready_.pop();
      --size_;
      w->run(*w);
    }
  }
  // Calls f() as if from one of its tasks.
  template <class F>
  void enter(F f) {
    const entry here(*this);
    f();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  base::intrusive_queue<coro::runnable> ready_;
  std::size_t size_ = 0;
};

}  // namespace coracle::test
