#include "coracle/coro/block_on.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/queue.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace coracle::coro::block_on_test {
namespace {

// Runs the posted work on a thread of its own.
class threaded_executor final : public executor {
 public:
  threaded_executor() : thread_([this] { serve(); }) {}
  ~threaded_executor() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  void post(runnable& w) noexcept override {
    const std::lock_guard lock(mutex_);
    queue_.push(w);
    changed_.notify_all();
  }
  void at_turn_end(runnable& w) noexcept override { post(w); }
  void arm(timer&, time_point) noexcept override {}
  void disarm(timer&) noexcept override {}
  [[nodiscard]] time_point now() const noexcept override { return {}; }

 private:
  void serve() {
    const entry here(*this);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closing_ || !queue_.empty(); });
      runnable* w = queue_.pop();
      if (!w) return;
      lock.unlock();
      w->run(*w);
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  base::intrusive_queue<runnable> queue_;
  bool closing_ = false;
  std::thread thread_;
};

task<std::thread::id> where() { co_return std::this_thread::get_id(); }
task<> fails() {
  throw std::runtime_error("broken");
  co_return;
}

TEST(BlockOn, RunsTheTaskOnTheExecutorAndGivesItsValue) {
  threaded_executor on;
  EXPECT_NE(block_on(on, where()), std::this_thread::get_id());
}

TEST(BlockOn, GivesAMoveOnlyValue) {
  threaded_executor on;
  auto make = []() -> task<std::unique_ptr<std::string>> {
    co_return std::make_unique<std::string>("moved");
  };
  EXPECT_EQ(*block_on(on, make()), "moved");
}

TEST(BlockOn, Rethrows) {
  threaded_executor on;
  EXPECT_THROW(block_on(on, fails()), std::runtime_error);
}

TEST(BlockOn, TheFrameIsGoneWhenItReturns) {
  threaded_executor on;
  for (int i = 0; i < 1000; ++i) {
    auto watched = std::make_shared<int>(1);
    auto holds = [](std::shared_ptr<int> p) -> task<int> { co_return *p; };
    EXPECT_EQ(block_on(on, holds(watched)), 1);
    EXPECT_EQ(watched.use_count(), 1);
  }
}

TEST(BlockOn, WaitsForAPrimitiveAtItsHome) {
  threaded_executor on;
  queue<std::unique_ptr<int>> c(1, on);
  event<> open(on);
  std::thread setter([&] {
    open.set();
    c.post(std::make_unique<int>(3));
  });
  block_on(open);
  EXPECT_EQ(**block_on(c.receive()), 3);
  setter.join();
}

TEST(BlockOn, OnAPrimitiveOnAnExecutorsThreadItThrows) {
  test::manual_executor on;
  event<> never_set;
  test::expect_misuse([&] { block_on(never_set); }, "must not block on a task");
}

TEST(BlockOn, OnAPrimitiveWithoutAHomeItThrows) {
  event<> never_set;
  test::expect_misuse([&] { block_on(never_set); }, "pass the loop to its constructor");
}

TEST(BlockOn, OnAnExecutorsThreadItThrows) {
  test::manual_executor on;
  test::expect_misuse([&] { block_on(on, where()); }, "must not block on a task");
}

TEST(BlockOn, ATaskThatWasMovedFromThrows) {
  threaded_executor on;
  test::expect_misuse([&] { block_on(on, task<int>()); }, "a task is awaited once");
}

}  // namespace
}  // namespace coracle::coro::block_on_test
