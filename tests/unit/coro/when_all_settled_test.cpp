#include "coracle/coro/when_all.hpp"

#include "coracle/coro/sleep.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::when_all_settled_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;

task<int> after(duration d, int n) {
  co_await sleep_for(d);
  co_return n;
}
task<> nothing() { co_return; }
task<> fail_at_once(const char* reason) {
  throw std::runtime_error(reason);
  co_return;
}
task<std::string> fail_after(duration d, const char* reason) {
  co_await sleep_for(d);
  throw std::runtime_error(reason);
}
template <class T>
std::string failure_text(const outcome<T>& o) {
  try {
    o.value();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

using three = std::tuple<outcome<int>, outcome<std::string>, outcome<void>>;

task<> settle(std::optional<three>& got) {
  got.emplace(co_await when_all_settled(after(20ms, 7), fail_after(10ms, "one"), fail_at_once("two")));
}

TEST(WhenAllSettled, KeepsEveryValueAndEveryError) {
  manual_executor on;
  std::optional<three> got;
  started s(settle(got));
  on.advance(10ms);
  EXPECT_FALSE(s.ended()) << "an error does not cut the others short";
  on.advance(10ms);
  ASSERT_TRUE(s.ended());
  ASSERT_TRUE(got);
  EXPECT_EQ(std::get<0>(*got).value(), 7);
  EXPECT_EQ(failure_text(std::get<1>(*got)), "one");
  EXPECT_EQ(failure_text(std::get<2>(*got)), "two");
}

TEST(WhenAllSettled, DoesNotSuspendWhenEverythingEndsAtOnce) {
  manual_executor on;
  auto body = []() -> task<> {
    auto [a, b] = co_await when_all_settled(nothing(), nothing());
    EXPECT_TRUE(a.ok());
    EXPECT_TRUE(b.ok());
    co_await when_all_settled();
  };
  started s(body());
  EXPECT_TRUE(s.ended());
  EXPECT_FALSE(s.error());
}

TEST(WhenAllSettled, GivesOutcomesOfARangeInItsOrder) {
  manual_executor on;
  std::vector<outcome<int>> got;
  auto body = [](std::vector<outcome<int>>& g) -> task<> {
    std::vector<task<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(after(1ms * (5 - i), i));
    g = co_await when_all_settled(std::move(all));
  };
  started s(body(got));
  on.advance(1s);
  ASSERT_TRUE(s.ended());
  ASSERT_EQ(got.size(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].value(), i);
}

TEST(WhenAllSettled, ARangeMayBeEmptyOrOfVoid) {
  manual_executor on;
  std::size_t failed = 0;
  auto body = [](std::size_t& f) -> task<> {
    std::vector<task<>> none;
    auto empty = co_await when_all_settled(std::move(none));
    EXPECT_TRUE(empty.empty());
    std::vector<task<>> all;
    all.push_back(nothing());
    all.push_back(fail_at_once("no"));
    all.push_back(fail_at_once("no"));
    auto got = co_await when_all_settled(std::move(all));
    for (const auto& o : got) f += o ? 0U : 1U;
  };
  started s(body(failed));
  ASSERT_TRUE(s.ended());
  EXPECT_EQ(failed, 2U);
}

TEST(WhenAllSettled, AStopReachesTheTasksAndKeepsWhatHasEndedWell) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token(), never, nullptr};
  std::optional<three> got;
  started s(settle(got), e);
  on.advance(10ms);
  stop.request_stop();
  on.run();
  ASSERT_TRUE(s.ended());
  ASSERT_TRUE(got);
  EXPECT_TRUE(std::get<0>(*got).cancelled());
  EXPECT_FALSE(std::get<1>(*got).cancelled());
  EXPECT_EQ(failure_text(std::get<1>(*got)), "one");
  EXPECT_TRUE(on.idle());
}

TEST(WhenAllSettled, CarriesValuesThatOnlyMove) {
  manual_executor on;
  auto body = []() -> task<> {
    auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
    auto [p] = co_await when_all_settled(make());
    std::unique_ptr<int> taken = std::move(p).value();
    EXPECT_EQ(*taken, 3);
  };
  started s(body());
  EXPECT_TRUE(s.ended());
}

TEST(WhenAllSettled, OfATaskThatWasMovedFromThrows) {
  test::expect_misuse([] { (void)when_all_settled(task<int>()); }, "move each task in once");
  std::vector<task<>> tasks(1);
  test::expect_misuse([&] { (void)when_all_settled(std::move(tasks)); }, "move each task in once");
}

}  // namespace
}  // namespace coracle::when_all_settled_test
