#include "coracle/coro/with_timeout.hpp"

#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <optional>
#include <stdexcept>
#include <utility>

namespace coracle::with_timeout_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

// A wait that no stop ends.
struct gate {
  std::coroutine_handle<> waiter;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept { waiter = h; }
  void await_resume() const noexcept {}
};

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<int> ends_well_though_stopped(gate& g) {
  co_await g;
  co_return 3;
}
task<int> cleans_up_through(gate& g) {
  bool stopped = false;
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
    stopped = true;
  }
  co_await g;
  if (stopped) throw coro::cancelled();
  co_return 0;
}
task<int> throws_after(duration d) {
  co_await sleep_for(d);
  throw std::runtime_error("its own");
}
task<time_point> sees_deadline() {
  const coro::environment& e = co_await coro::this_environment();
  co_return e.deadline;
}

template <class T>
task<> store(task<T> t, duration limit, std::optional<result<T>>& to) {
  to.emplace(co_await with_timeout(limit, std::move(t)));
}

TEST(Timeout, GivesTheValueOfATaskThatIsInTime) {
  manual_executor on;
  std::optional<result<int>> got;
  started s(store(after(5ms, 9), 10ms, got));
  on.advance(5ms);
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 9);
  EXPECT_TRUE(on.idle()) << "its timer is disarmed";
}

TEST(Timeout, IsDeadlineExceededWhenTheTaskGaveWay) {
  manual_executor on;
  std::optional<result<int>> got;
  started s(store(after(1h, 1), 10ms, got));
  on.advance(9ms);
  EXPECT_FALSE(got);
  on.advance(1ms);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status().code(), status_code::deadline_exceeded);
}

TEST(Timeout, WaitsForTheEndOfTheTaskThatItStopped) {
  manual_executor on;
  gate g;
  std::optional<result<int>> got;
  started s(store(cleans_up_through(g), 10ms, got));
  on.advance(1h);
  EXPECT_FALSE(got);
  g.waiter.resume();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status().code(), status_code::deadline_exceeded);
}

TEST(Timeout, KeepsTheValueOfATaskThatEndsWellInSpiteOfTheStop) {
  manual_executor on;
  gate g;
  std::optional<result<int>> got;
  started s(store(ends_well_though_stopped(g), 10ms, got));
  on.advance(1h);
  g.waiter.resume();
  ASSERT_TRUE(got && got->ok());
  EXPECT_EQ(**got, 3);
}

TEST(Timeout, LetsOtherExceptionsThrough) {
  manual_executor on;
  std::optional<result<int>> got;
  started s(store(throws_after(1ms), 10ms, got));
  on.advance(1ms);
  EXPECT_TRUE(s.threw<std::runtime_error>());
}

TEST(Timeout, LetsAStopFromOutsideThroughAsCancelled) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  std::optional<result<int>> got;
  started s(store(after(1h, 1), 1h, got), e);
  stop.request_stop();
  on.run();
  EXPECT_TRUE(s.threw<coro::cancelled>());
  EXPECT_TRUE(on.idle());
}

TEST(Timeout, ShowsTheEarlierDeadlineInside) {
  manual_executor on;
  const time_point outer = on.now() + 5ms;
  const coro::environment e{{}, outer};
  std::optional<result<time_point>> wide;
  started a(store(sees_deadline(), 1h, wide), e);
  EXPECT_EQ(**wide, outer);
  std::optional<result<time_point>> narrow;
  started b(store(sees_deadline(), 1ms, narrow), e);
  EXPECT_EQ(**narrow, on.now() + 1ms);
}

TEST(Timeout, GivesAStatusForATaskWithoutAValue) {
  manual_executor on;
  status in_time = status(status_code::unknown);
  status late;
  auto waits = [](duration d) -> task<> { co_await sleep_for(d); };
  auto body = [](auto make, duration d, status& to) -> task<> { to = co_await with_timeout(10ms, make(d)); };
  started a(body(waits, 1ms, in_time));
  started b(body(waits, 1h, late));
  on.advance(10ms);
  EXPECT_TRUE(in_time.ok());
  EXPECT_EQ(late.code(), status_code::deadline_exceeded);
}

TEST(Timeout, DestroysATaskThatItNeverStarted) {
  auto watched = std::make_shared<int>(1);
  auto holds = [](std::shared_ptr<int>) -> task<> { co_return; };
  {
    auto never_awaited = with_timeout(1ms, holds(watched));
  }
  EXPECT_EQ(watched.use_count(), 1);
}

}  // namespace
}  // namespace coracle::with_timeout_test
