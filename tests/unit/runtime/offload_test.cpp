#include "coracle/runtime/offload.hpp"

#include "runtime/runtime_core.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::offload_test {
namespace {

using namespace std::chrono_literals;

// Holds blocking calls until it is opened, and counts them.
class barrier {
 public:
  void hold() {
    std::unique_lock lock(mutex_);
    ++held_;
    most_ = std::max(most_, held_);
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --held_;
  }
  void wait_for(int held) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ >= held; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int most() {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int held_ = 0;
  int most_ = 0;
  bool open_ = false;
};

struct places {
  std::thread::id before;
  std::thread::id inside;
  std::thread::id after;
};

task<places> visit() {
  places p;
  p.before = std::this_thread::get_id();
  p.inside = co_await offload([] { return std::this_thread::get_id(); });
  p.after = std::this_thread::get_id();
  co_return p;
}

TEST(Offload, RunsElsewhereAndResumesOnItsLoop) {
  runtime rt;
  const places p = sync_wait(rt, visit());
  EXPECT_NE(p.inside, p.before);
  EXPECT_EQ(p.after, p.before);
}

TEST(Offload, TakesArgumentsAndGivesTheValue) {
  runtime rt;
  auto body = []() -> task<std::string> {
    std::string first = "a text that does not fit a small string, ";
    auto second = std::make_unique<std::string>("moved");
    co_return co_await offload([](const std::string& a, std::unique_ptr<std::string> b) { return a + *b; },
                               first, std::move(second));
  };
  EXPECT_EQ(sync_wait(rt, body()), "a text that does not fit a small string, moved");
}

TEST(Offload, RethrowsWhatTheCallThrew) {
  runtime rt;
  auto body = []() -> task<> { co_await offload([] { throw std::runtime_error("blocked and broke"); }); };
  EXPECT_THROW(sync_wait(rt, body()), std::runtime_error);
}

task<> hold_once(barrier& b) { co_await offload(&barrier::hold, &b); }

TEST(Offload, RunsNoMoreThanItsLimitAtOnceAndLosesNone) {
  runtime rt(runtime_options{.blocking_threads = 3});
  barrier b;
  auto body = [](barrier& gate) -> task<> {
    std::vector<task<>> all;
    for (int i = 0; i < 20; ++i) all.push_back(hold_once(gate));
    co_await when_all(std::move(all));
  };
  std::thread opener([&] {
    b.wait_for(3);
    b.open();
  });
  sync_wait(rt, body(b));
  opener.join();
  EXPECT_EQ(b.most(), 3);
  EXPECT_EQ(rt.core().pool().threads(), 3u);
}

TEST(Offload, StartsNoThreadBeforeItIsNeeded) {
  runtime rt;
  auto nothing = []() -> task<> { co_return; };
  sync_wait(rt, nothing());
  EXPECT_EQ(rt.core().pool().threads(), 0u);
  auto one = []() -> task<int> { co_return co_await offload([] { return 1; }); };
  for (int i = 0; i < 50; ++i) sync_wait(rt, one());
  EXPECT_EQ(rt.core().pool().threads(), 1u) << "an idle thread is used again";
}

task<> offload_until_stopped(barrier& b, std::atomic<int>& cancelled) {
  try {
    co_await offload(&barrier::hold, &b);
  } catch (const coro::cancelled&) {
    ++cancelled;
  }
}

TEST(Offload, AStopTakesBackWhatHasNotBegunAndWaitsForTheRest) {
  runtime rt(runtime_options{.blocking_threads = 1});
  barrier b;
  std::atomic<int> cancelled{0};
  auto body = [](barrier& gate, std::atomic<int>& n) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(offload_until_stopped(gate, n));
    co_await sleep_for(1ms);
    for (int i = 0; i < 5; ++i) work.spawn(offload_until_stopped(gate, n));
    while (gate.most() == 0) co_await sleep_for(1ms);
    work.request_stop();
    while (n < 5) co_await sleep_for(1ms);
    EXPECT_EQ(work.running(), 1u) << "the call that has begun is waited for";
    gate.open();
    co_await work.join();
  };
  sync_wait(rt, body(b, cancelled));
  EXPECT_EQ(cancelled, 5);
}

TEST(Offload, UnderAStopItDoesNotBegin) {
  runtime rt;
  rt.stop();
  bool ran = false;
  auto body = [](bool& r) -> task<> { co_await offload([](bool* p) { *p = true; }, &r); };
  EXPECT_THROW(sync_wait(rt, body(ran)), coro::cancelled);
  EXPECT_FALSE(ran);
}

TEST(Offload, ThousandsFromSeveralLoopsAllComeHome) {
  runtime rt(runtime_options{.loops = 3, .blocking_threads = 4});
  std::atomic<int> sum{0};
  auto one = [](std::atomic<int>& s) -> task<> {
    const std::size_t owner_loop = loop::current()->index();
    s += co_await offload([](int a) { return a; }, 1);
    EXPECT_EQ(loop::current()->index(), owner_loop);
  };
  for (int i = 0; i < 3000; ++i) rt.spawn(one(sum));
  rt.run();
  EXPECT_EQ(sum, 3000);
}

}  // namespace
}  // namespace coracle::offload_test
