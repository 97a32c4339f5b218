#include "coracle/coro/watch.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/turned_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace coracle::watch_test {
namespace {

using test::manual_executor;
using test::started;
using test::turned_executor;

// -1 for the end.
task<> observe(watch<int>::observer& by, std::vector<int>& to, int times) {
  for (; times != 0; --times) {
    const std::optional<int> latest = co_await by.changed();
    to.push_back(latest.value_or(-1));
    if (!latest) co_return;
  }
}

TEST(Watch, TellsThePresentValueFirst) {
  manual_executor on;
  watch<int> w(1);
  w.set(2);
  watch<int>::observer o(w);
  std::vector<int> seen;
  started x(observe(o, seen, 1));
  EXPECT_EQ(seen, std::vector<int>{2});
  EXPECT_EQ(w.value(), 2);
}

TEST(Watch, TellsTheLatestAndNotWhatWasInBetween) {
  manual_executor on;
  watch<int> w(1);
  watch<int>::observer o(w);
  std::vector<int> seen;
  started x(observe(o, seen, 3));
  EXPECT_EQ(seen, std::vector<int>{1});
  w.set(2);
  w.set(3);
  w.set(4);
  on.run();
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 4})) << "2 was given to it as it waited";
}

TEST(Watch, TellsEveryObserver) {
  manual_executor on;
  watch<int> w(1);
  watch<int>::observer first(w), second(w);
  std::vector<int> one, two;
  started x(observe(first, one, 2));
  started y(observe(second, two, 2));
  w.set(2);
  on.run();
  EXPECT_EQ(one, (std::vector<int>{1, 2}));
  EXPECT_EQ(two, (std::vector<int>{1, 2}));
}

TEST(Watch, AStoppedObserverHasSeenNothing) {
  manual_executor on;
  watch<int> w(1);
  watch<int>::observer o(w);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> seen;
  started x(observe(o, seen, 2), stopping);
  stop.request_stop();
  w.set(2);
  on.run();
  EXPECT_TRUE(x.threw<coro::cancelled>());
  started y(observe(o, seen, 1));
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
}

TEST(Watch, CloseTellsTheLatestAndThenTheEnd) {
  manual_executor on;
  watch<int> w(1);
  watch<int>::observer early(w), late(w);
  std::vector<int> one, two;
  started x(observe(early, one, 3));
  w.close();
  w.close();
  w.set(2);
  on.run();
  started y(observe(late, two, 3));
  EXPECT_EQ(one, (std::vector<int>{1, -1}));
  EXPECT_EQ(two, (std::vector<int>{1, -1}));
}

TEST(Watch, ObserversAndSettersOfOtherExecutorsReachItsHome) {
  turned_executor owner_loop, away;
  watch<int> w(1, owner_loop);
  watch<int>::observer o(w);
  std::vector<int> seen;
  std::optional<started> x;
  away.enter([&] { x.emplace(observe(o, seen, 3)); });
  owner_loop.turn();
  away.turn();
  away.enter([&] { w.set(2); });
  for (int n = 0; n != 3; ++n) {
    owner_loop.turn();
    away.turn();
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
  w.close();
  owner_loop.turn();
  away.turn();
  EXPECT_TRUE(x->ended());
  EXPECT_EQ(seen, (std::vector<int>{1, 2, -1}));
}

TEST(WatchDeathTest, DestroyingOneThatIsWaitedForAborts) {
  EXPECT_DEATH(
      {
        manual_executor on;
        auto w = std::make_unique<watch<int>>(1);
        watch<int>::observer o(*w);
        std::vector<int> seen;
        started x(observe(o, seen, 2));
        w.reset();
      },
      "close\\(\\) it and join them first");
}

}  // namespace
}  // namespace coracle::watch_test
