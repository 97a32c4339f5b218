// handler_pool: which handlers are given a thread, and when threads end.
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

namespace coracle::testing_support::handler_pool_test {
namespace {

using namespace std::chrono_literals;
using grpc::internal::handler_pool;
using outcome = handler_pool::outcome;

class job final : public handler_pool::job {
 public:
  explicit job(std::function<void()> f) : f_(std::move(f)) {}
  void run() noexcept override { f_(); }

 private:
  const std::function<void()> f_;
};

// Handlers that block until open(), or the end of the gate.
class gate {
 public:
  gate() = default;
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { open(); }
  // The handler may outlast the gate.
  [[nodiscard]] std::shared_ptr<handler_pool::job> blocked() const {
    return std::make_shared<job>([with = with_] {
      ++with->begun;
      with->opened.wait(false);
    });
  }
  void open() {
    with_->opened = true;
    with_->opened.notify_all();
  }
  [[nodiscard]] int begun() const { return with_->begun; }
  void wait_for(int handlers) const {
    while (begun() < handlers) std::this_thread::yield();
  }

 private:
  struct shared {
    std::atomic<int> begun{0};
    std::atomic<bool> opened{false};
  };
  const std::shared_ptr<shared> with_ = std::make_shared<shared>();
};

std::size_t cores() { return std::max(std::thread::hardware_concurrency(), 1u); }

void wait_until(const std::function<bool()>& is) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  bool seen = false;  // asked once more, is() might not hold: it may take what it has waited for
  // It sleeps on purpose: the pool has no event for the end of a thread.
  while (!(seen = is()) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(seen);
}

TEST(GrpcppHandlerPool, ThreadsThatHaveNothingToDoEnd) {
  handler_pool pool({1'000, false, 20ms});
  for (int round = 1; round <= 2; ++round) {
    gate all;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(pool.run(all.blocked()), outcome::accepted);
    all.wait_for(100);
    EXPECT_GE(pool.threads(), 100u);
    all.open();
    wait_until([&] { return pool.threads() <= cores(); });
  }
  gate last;
  ASSERT_EQ(pool.run(last.blocked()), outcome::accepted);
  last.wait_for(1);
}

TEST(GrpcppHandlerPool, AClientMayHaveAsManyHandlersAsAreFree) {
  handler_pool pool({30, true});
  gate all;
  const auto taken_by = [&](std::size_t client) {
    int taken = 0;
    while (pool.run(all.blocked(), client) == outcome::accepted) ++taken;
    EXPECT_EQ(pool.run(all.blocked(), client), outcome::above_share);
    return taken;
  };
  EXPECT_EQ(taken_by(1), 15);
  EXPECT_EQ(taken_by(2), 8);
  EXPECT_EQ(taken_by(3), 4);
  EXPECT_EQ(taken_by(1), 0);
  // The program itself has no share.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.run(all.blocked(), 0), outcome::accepted);
  EXPECT_EQ(pool.run(all.blocked(), 0), outcome::above_limit);
  all.wait_for(30);
}

TEST(GrpcppHandlerPool, AShareIsFreeAgainWithItsHandlers) {
  handler_pool pool({10, true});
  gate first;
  for (int i = 0; i < 5; ++i) ASSERT_EQ(pool.run(first.blocked(), 7), outcome::accepted);
  ASSERT_EQ(pool.run(first.blocked(), 7), outcome::above_share);
  first.open();
  gate second;
  wait_until([&] { return pool.run(second.blocked(), 7) == outcome::accepted; });
}

TEST(GrpcppHandlerPool, ALimitOfTheProgramIsForAllClientsTogether) {
  handler_pool pool({4});
  gate all;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(pool.run(all.blocked(), 1), outcome::accepted);
  EXPECT_EQ(pool.run(all.blocked(), 1), outcome::above_limit);
  all.wait_for(4);
}

TEST(GrpcppHandlerPool, NoHandlerBeginsWhileLargeRepliesWaitForTheirLoops) {
  handler_pool pool({100});
  auto made = pool.made(handler_pool::made_max + 1);
  gate all;
  for (int i = 0; i < 50; ++i) ASSERT_EQ(pool.run(all.blocked()), outcome::accepted);
  // It sleeps on purpose: that no handler begins is no event, and this is many periods of the watch.
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(all.begun(), 0);
  made = {};
  all.wait_for(50);
}

TEST(GrpcppHandlerPool, TheLimitByDefaultIsSharedAndWithinWhatTheSystemPermits) {
  const auto limit = handler_pool::default_limit();
  EXPECT_TRUE(limit.shared);
  EXPECT_LE(limit.handlers, 16'384u);
  EXPECT_GE(limit.handlers, 1u);
}

}  // namespace
}  // namespace coracle::testing_support::handler_pool_test
