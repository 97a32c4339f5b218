#include "coracle/coro/async_generator.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace coracle::async_generator_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

async_generator<int> count(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
}
async_generator<int> ticks(int n) {
  for (int i = 0; i < n; ++i) {
    co_await sleep_for(10ms);
    co_yield i;
  }
}
async_generator<std::string> fails_after(int n) {
  for (int i = 0; i < n; ++i) co_yield "item";
  throw std::runtime_error("its own");
}
task<> drain(async_generator<int> from, std::vector<int>& to) {
  while (auto item = co_await from.next()) to.push_back(*item);
}

struct leaves_a_mark {
  explicit leaves_a_mark(bool& m) : mark(m) {}
  leaves_a_mark(const leaves_a_mark&) = delete;
  leaves_a_mark& operator=(const leaves_a_mark&) = delete;
  ~leaves_a_mark() { mark = true; }
  bool& mark;
};

TEST(AsyncGenerator, GivesItsItemsAndThenNothing) {
  manual_executor on;
  std::vector<int> got;
  started s(drain(count(4), got));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3}));
}

TEST(AsyncGenerator, MayWaitBetweenItsItems) {
  manual_executor on;
  std::vector<int> got;
  started s(drain(ticks(3), got));
  EXPECT_TRUE(got.empty());
  on.advance(10ms);
  EXPECT_EQ(got, std::vector<int>{0});
  on.advance(10ms);
  on.advance(10ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2}));
}

TEST(AsyncGenerator, SaysAgainThatItHasEnded) {
  manual_executor on;
  auto body = []() -> task<> {
    async_generator<int> none;
    EXPECT_FALSE(co_await none.next());
    auto g = count(1);
    EXPECT_TRUE(co_await g.next());
    EXPECT_FALSE(co_await g.next());
    EXPECT_FALSE(co_await g.next());
  };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(AsyncGenerator, ALongRowOfItemsAtOnceDoesNotUseUpTheStack) {
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && !CORACLE_TRAMPOLINE
  GTEST_SKIP() << "g++ without optimisation and without the trampoline keeps each transfer on the stack";
#endif
  manual_executor on;
  auto body = []() -> task<> {
    int sum = 0;
    auto g = count(200'000);
    while (auto item = co_await g.next()) sum += *item & 1;
    EXPECT_EQ(sum, 100'000);
  };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(AsyncGenerator, AnExceptionComesOutOfNextOnce) {
  manual_executor on;
  auto body = []() -> task<> {
    auto g = fails_after(1);
    auto first = co_await g.next();
    EXPECT_EQ(first, "item");
    bool thrown = false;
    try {
      co_await g.next();
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_FALSE(co_await g.next());
  };
  started s(body());
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(AsyncGenerator, UnwindsItsBodyWhenItIsDestroyedBetweenItems) {
  manual_executor on;
  bool unwound = false;
  auto rows = [](bool& m) -> async_generator<int> {
    const leaves_a_mark mark(m);
    for (int i = 0;; ++i) {
      co_await sleep_for(1ms);
      co_yield i;
    }
  };
  auto body = [](async_generator<int> from, bool& m) -> task<> {
    {
      async_generator<int> g = std::move(from);
      co_await g.next();
      EXPECT_FALSE(m);
    }
    EXPECT_TRUE(m);
  };
  started s(body(rows(unwound), unwound));
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_TRUE(on.idle());
}

TEST(AsyncGenerator, InheritsTheEnvironmentOfEachNext) {
  manual_executor on;
  auto deadlines = []() -> async_generator<time_point> {
    for (;;) {
      const coro::environment& here = co_await coro::this_environment();
      co_yield here.deadline;
    }
  };
  auto body = [](async_generator<time_point> g) -> task<> {
    auto first = co_await g.next();
    EXPECT_EQ(*first, never);
    auto under = [](async_generator<time_point>& from) -> task<time_point> {
      auto item = co_await from.next();
      co_return *item;
    };
    auto limited = co_await with_timeout(5s, under(g));
    EXPECT_EQ(limited.value(), coro::this_executor().now() + 5s);
    auto last = co_await g.next();
    EXPECT_EQ(*last, never);
  };
  started s(body(deadlines()));
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(AsyncGenerator, AStopWhileItsBodyWaitsEndsIt) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), never, nullptr};
  auto g = ticks(3);
  auto take = [](async_generator<int>& from) -> task<> { co_await from.next(); };
  {
    started s(take(g), e);
    stop.request_stop();
    on.run();
    EXPECT_TRUE(s.threw<coro::cancelled>());
  }
  EXPECT_TRUE(on.idle());
  auto is_over = [](async_generator<int>& from) -> task<> { EXPECT_FALSE(co_await from.next()); };
  started s(is_over(g));
  EXPECT_TRUE(s.ended());
}

TEST(AsyncGenerator, AStopBeforeNextLeavesItAsItWas) {
  manual_executor on;
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment e{stop.token(), never, nullptr};
  auto g = count(2);
  auto take = [](async_generator<int>& from) -> task<> { co_await from.next(); };
  started refused(take(g), e);
  EXPECT_TRUE(refused.threw<coro::cancelled>());
  std::vector<int> got;
  started s(drain(std::move(g), got));
  EXPECT_EQ(got, (std::vector<int>{0, 1}));
}

TEST(AsyncGenerator, AnItemThatComesInSpiteOfTheStopIsGiven) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), never, nullptr};
  auto stubborn = []() -> async_generator<int> {
    int item = 0;
    try {
      co_await sleep_for(1h);
    } catch (const coro::cancelled&) {
      item = 5;
    }
    co_yield item;
    co_yield 6;
  };
  auto g = stubborn();
  int got = 0;
  auto take = [](async_generator<int>& from, int& to) -> task<> {
    auto item = co_await from.next();
    to = *item;
  };
  started s(take(g, got), e);
  stop.request_stop();
  on.run();
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(got, 5);
  started again(take(g, got));
  EXPECT_EQ(got, 6);
}

TEST(AsyncGenerator, CarriesValuesThatOnlyMoveAndAwaitsTasks) {
  manual_executor on;
  auto rows = []() -> async_generator<std::unique_ptr<int>> {
    auto one = []() -> task<int> {
      co_await sleep_for(1ms);
      co_return 1;
    };
    const int a = co_await one();
    co_yield std::make_unique<int>(a);
    const int b = co_await one();
    auto held = std::make_unique<int>(b + 1);
    co_yield std::move(held);
  };
  int sum = 0;
  auto body = [](async_generator<std::unique_ptr<int>> g, int& to) -> task<> {
    while (auto item = co_await g.next()) to += **item;
  };
  started s(body(rows(), sum));
  on.advance(1ms);
  on.advance(1ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(sum, 3);
}

TEST(AsyncGenerator, FeedsAnotherOne) {
  manual_executor on;
  auto odd = [](async_generator<int> from) -> async_generator<int> {
    while (auto item = co_await from.next()) {
      if (*item % 2 == 1) co_yield *item;
    }
  };
  std::vector<int> got;
  started s(drain(odd(ticks(6)), got));
  for (int i = 0; i < 6; ++i) on.advance(10ms);
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(got, (std::vector<int>{1, 3, 5}));
}

TEST(AsyncGenerator, TwoNextsAtATimeAreADefectOfTheCaller) {
  manual_executor on;
  auto g = ticks(1);
  auto take = [](async_generator<int>& from) -> task<> { co_await from.next(); };
  started first(take(g));
  started second(take(g));
  EXPECT_TRUE(second.threw<usage_error>());
  on.advance(10ms);
  EXPECT_TRUE(first.ended());
}

}  // namespace
}  // namespace coracle::async_generator_test
