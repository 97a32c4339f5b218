#include "coracle/coro/impl/as_task.hpp"

#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::as_task_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

// An awaiter of another library: not a coroutine, movable, returns a value that cannot be copied.
struct box_later {
  int value;
  coro::executor* on = &coro::this_executor();
  std::coroutine_handle<> waiter;
  struct arrival : coro::runnable {
    box_later* of = nullptr;
  } arrives;

  explicit box_later(int v) : value(v) {}
  bool await_ready() const noexcept { return value == 0; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    waiter = h;
    arrives.of = this;
    arrives.run = [](coro::runnable& w) noexcept { static_cast<arrival&>(w).of->waiter.resume(); };
    on->post(arrives);
  }
  std::unique_ptr<int> await_resume() const { return std::make_unique<int>(value); }
};

static_assert(coro::awaitable<box_later>);
static_assert(coro::awaitable<task<int>>);
static_assert(!coro::awaitable<int>);
static_assert(std::is_same_v<coro::awaited_t<box_later>, std::unique_ptr<int>>);
static_assert(std::is_same_v<coro::awaited_t<task<>>, void>);

TEST(AsTask, ATaskStaysItself) {
  auto one = []() -> task<int> { co_return 1; };
  task<int> t = one();
  const auto frame = t.release();
  task<int> same = coro::as_task(task<int>(frame));
  EXPECT_EQ(same.release().address(), frame.address());
  frame.destroy();
}

TEST(AsTask, AnAwaiterGivesItsValue) {
  manual_executor on;
  int got = 0;
  auto body = [](int& into) -> task<> {
    task<std::unique_ptr<int>> t = coro::as_task(box_later(7));
    into = *co_await std::move(t);
  };
  const started s(body(got));
  on.run();
  EXPECT_EQ(got, 7);
}

TEST(AsTask, CombinatorsTakeAwaiters) {
  manual_executor on;
  int sum = 0;
  auto body = [](int& into) -> task<> {
    auto both = co_await when_all(box_later(2), box_later(0));
    auto first = co_await when_any(box_later(10), box_later(0));
    EXPECT_EQ(first.index(), 1u);
    const auto in_time = co_await with_timeout(1s, box_later(30));
    into = *std::get<0>(both) + *first.get<1>() + **in_time;
  };
  const started s(body(sum));
  on.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(sum, 32);
}

TEST(AsTask, WaitsForPrimitivesAndSleepsStandBesideEachOther) {
  manual_executor on;
  int got = 0;
  auto body = [](int& into) -> task<> {
    mutex m;
    queue<int> numbers(1);
    const mutex::guard held = co_await m.lock();
    auto first = co_await when_any_settled(m.lock(), numbers.receive(), sleep_for(1ms));
    EXPECT_EQ(first.index(), 2u);
    EXPECT_FALSE(first.ok<0>() || first.ok<1>());
    EXPECT_TRUE(numbers.try_send(5));
    const auto number = co_await with_timeout(1s, numbers.receive());
    into = **number;
  };
  const started s(body(got));
  on.advance(2ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, 5);
}

}  // namespace
}  // namespace coracle::as_task_test
