#include "coracle/coro/stop_on.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace coracle::stop_on_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<int> keeps_its_value() {
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
    co_return 7;
  }
  co_return 0;
}
task<int> throws_when_stopped() {
  try {
    co_await sleep_for(1h);
  } catch (const coro::cancelled&) {
    throw std::runtime_error("its own");
  }
  co_return 0;
}

template <class T>
task<> store(coro::stop_token token, task<T> t, std::optional<result<T>>& to) {
  to.emplace(co_await stop_on(token, std::move(t)));
}

TEST(StopOn, AWaitThatEndsBeforeTheTokenFiresGivesItsValue) {
  manual_executor on;
  coro::stop_source source;
  std::optional<result<int>> got;
  started s(store(source.token(), after(5ms, 3), got));
  on.advance(5ms);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value(), 3);
  source.request_stop();  // nothing of the wait is left in it
}

TEST(StopOn, TheTokenEndsTheWait) {
  manual_executor on;
  coro::stop_source source;
  std::optional<result<int>> got;
  started s(store(source.token(), after(1h, 3), got));
  EXPECT_FALSE(got);
  source.request_stop();
  on.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status(), status::cancelled("the stop token requested a stop"));
}

TEST(StopOn, ATokenThatHasFiredEndsTheWaitAtOnce) {
  manual_executor on;
  coro::stop_source source;
  source.request_stop();
  std::optional<result<int>> got;
  started s(store(source.token(), after(1h, 3), got));
  on.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status().code(), status_code::cancelled);
}

TEST(StopOn, ATokenOfNoSourceNeverFires) {
  manual_executor on;
  std::optional<result<int>> got;
  started s(store(coro::stop_token(), after(5ms, 3), got));
  on.advance(5ms);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value(), 3);
}

TEST(StopOn, ATaskThatEndsWellAllTheSameKeepsItsValue) {
  manual_executor on;
  coro::stop_source source;
  std::optional<result<int>> got;
  started s(store(source.token(), keeps_its_value(), got));
  source.request_stop();
  on.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value(), 7);
}

TEST(StopOn, AnotherExceptionPassesThrough) {
  manual_executor on;
  coro::stop_source source;
  std::optional<result<int>> got;
  started s(store(source.token(), throws_when_stopped(), got));
  source.request_stop();
  on.run();
  EXPECT_FALSE(got);
  EXPECT_TRUE(s.threw<std::runtime_error>());
}

TEST(StopOn, TheEnvironmentsOwnStopStaysACancellation) {
  manual_executor on;
  coro::stop_source source;
  coro::stop_source outer;
  const coro::environment e{outer.token()};
  std::optional<result<int>> got;
  started s(store(source.token(), after(1h, 3), got), e);
  outer.request_stop();
  on.run();
  EXPECT_FALSE(got);
  EXPECT_TRUE(s.threw<coro::cancelled>());
}

TEST(StopOn, AWaitWithoutAValueGivesAStatus) {
  manual_executor on;
  coro::stop_source source;
  event<> never_set;
  std::optional<status> outcome;
  auto wait = [](event<>& e) -> task<> { co_await e; };
  auto body = [](coro::stop_token token, task<> t, std::optional<status>& to) -> task<> {
    to = co_await stop_on(token, std::move(t));
  };
  started s(body(source.token(), wait(never_set), outcome));
  source.request_stop();
  on.run();
  EXPECT_EQ(outcome, status::cancelled("the stop token requested a stop"));
}

}  // namespace
}  // namespace coracle::stop_on_test
