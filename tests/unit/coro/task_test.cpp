#include "coracle/coro/task.hpp"

#include "coracle/coro/environment.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace coracle::task_test {
namespace {

using test::manual_executor;
using test::started;

task<int> number(int n) { co_return n; }
task<std::string> text() { co_return "a text that is too long for the small buffer of a string"; }
task<> nothing() { co_return; }
task<int> failing() {
  throw std::runtime_error("broken");
  co_return 1;
}

TEST(Task, DoesNotStartBeforeItIsAwaited) {
  manual_executor on;
  bool ran = false;
  auto body = [](bool& r) -> task<> {
    r = true;
    co_return;
  };
  task<> t = body(ran);
  EXPECT_FALSE(ran);
  started s(std::move(t));
  EXPECT_TRUE(ran);
  EXPECT_TRUE(s.ended());
}

TEST(Task, GivesItsValueToItsAwaiter) {
  manual_executor on;
  int got = 0;
  std::string output;
  auto body = [](int& n, std::string& t) -> task<> {
    n = co_await number(42);
    t = co_await text();
  };
  started s(body(got, output));
  EXPECT_EQ(got, 42);
  EXPECT_EQ(output.substr(0, 6), "a text");
}

TEST(Task, GivesAMoveOnlyValue) {
  manual_executor on;
  auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  int got = 0;
  auto body = [](task<std::unique_ptr<int>> t, int& g) -> task<> { g = *co_await std::move(t); };
  started s(body(make(), got));
  EXPECT_EQ(got, 7);
}

TEST(Task, RethrowsInItsAwaiter) {
  manual_executor on;
  std::string caught;
  auto body = [](std::string& c) -> task<> {
    try {
      co_await failing();
    } catch (const std::runtime_error& e) {
      c = e.what();
    }
  };
  started s(body(caught));
  EXPECT_EQ(caught, "broken");
  EXPECT_FALSE(s.error());
}

TEST(Task, LetsAnExceptionThroughItsAwaiters) {
  manual_executor on;
  auto middle = []() -> task<int> { co_return co_await failing() + 1; };
  auto body = [](task<int> t) -> task<> { co_await std::move(t); };
  started s(body(middle()));
  EXPECT_TRUE(s.threw<std::runtime_error>());
}

// Each await must release the stack that the child used: a million nested calls would overflow it.
TEST(Task, AMillionAwaitsInALoopDoNotGrowTheStack) {
  manual_executor on;
  long sum = 0;
  auto body = [](long& s) -> task<> {
    for (int i = 0; i < 1'000'000; ++i) s += co_await number(1);
  };
  started s(body(sum));
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(sum, 1'000'000);
}

TEST(Task, AMillionAwaitsThatSuspendDoNotGrowTheStack) {
  manual_executor on;
  class yield : coro::runnable {
   public:
    yield() {
      run = [](coro::runnable& w) noexcept { static_cast<yield&>(w).waiter_.resume(); };
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) noexcept {
      waiter_ = h;
      coro::this_executor().post(*this);
    }
    void await_resume() const noexcept {}

   private:
    std::coroutine_handle<> waiter_;
  };
  auto step = []() -> task<> { co_await yield(); };
  int steps = 0;
  auto body = [](auto one, int& n) -> task<> {
    for (; n < 100'000; ++n) co_await one();
  };
  started s(body(step, steps));
  on.run();
  EXPECT_TRUE(s.ended());
  EXPECT_EQ(steps, 100'000);
}

TEST(Task, InheritsTheEnvironmentOfItsAwaiter) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), time_point(std::chrono::seconds(5)), &on};
  const coro::environment* seen = nullptr;
  auto inner = [](const coro::environment*& s) -> task<> { s = &co_await coro::this_environment(); };
  auto middle = [](auto in, const coro::environment*& s) -> task<> { co_await in(s); };
  started s(middle(inner, seen), e);
  EXPECT_EQ(seen, &e);
}

TEST(Task, DestroysItsArgumentsWhenItWasNeverAwaited) {
  auto watched = std::make_shared<int>(1);
  auto body = [](std::shared_ptr<int>) -> task<> { co_return; };
  {
    task<> t = body(watched);
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(Task, AssigningToItDestroysTheFrameItHeld) {
  auto watched = std::make_shared<int>(1);
  auto body = [](std::shared_ptr<int>) -> task<> { co_return; };
  task<> t = body(watched);
  t = nothing();
  EXPECT_EQ(watched.use_count(), 1);
  EXPECT_TRUE(t.valid());
}

#if !defined(__clang__) && __GNUC__ < 13
// As GCC 12 occasionally lays them out: see docs/guides/hazards.md.
TEST(TaskDeathTest, BeginningInAFrameThatIsLaidOutWronglyAborts) {
  alignas(coro::frame_pool::alignment_bytes) char frame[32];
  const coro::promise_base::initial_awaiter begins;
  begins.await_suspend(std::coroutine_handle<>::from_address(frame));
  EXPECT_DEATH(begins.await_suspend(std::coroutine_handle<>::from_address(frame + 8)), "in a variable first");
}
#endif

TEST(Task, AwaitingAnEmptyTaskThrows) {
  manual_executor on;
  auto body = [](task<> t) -> task<> { co_await std::move(t); };
  started s(body(task<>()));
  EXPECT_TRUE(s.threw<usage_error>());
}

}  // namespace
}  // namespace coracle::task_test
