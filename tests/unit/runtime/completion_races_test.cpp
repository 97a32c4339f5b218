// Waits for events that happen once: events, and the ends of tasks.
#include "unit/runtime/cancellation_races.hpp"

#include "coracle/coro/as_completed.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/runtime/on.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::testing_support::completion_races_test {
namespace {

class ending_races : public cancellation_races {};
INSTANTIATE_TEST_SUITE_P(On, ending_races, all_cancellation_races, ending_races::case_name);

struct event_races {
  static task<int> pass(event<int>& e) { co_return co_await e; }
  static task<> open(event<int>& e, int n, duration after) {
    co_await nap(after);
    e.set(n);
  }
  static task<> run(loop& there, score& mine) {
    lengths drawn(41);
    while (mine.total() < races) {
      event<int> e;
      const int n = mine.total();
      there.owner().spawn_on(there, open(e, n, drawn.draw()));
      auto first = co_await when_any_settled(pass(e), nap(drawn.draw()));
      int got = -1;
      if (first.ok<0>()) {
        ++mine.won;
        got = std::move(first).get<0>();
      } else {
        ++mine.lost;
        got = co_await e;
      }
      EXPECT_EQ(got, n);
    }
  }
};

TEST_P(ending_races, AnEventStaysOpenForWhoGaveUp) {
  score s;
  rt().spawn_on(here(), event_races::run(there(), s));
  rt().run();
  expect_both_happened(s);
}

struct endings {
  static task<int> end_there(loop& there, duration after, int n) {
    co_await on(there, nap(after));
    co_return n;
  }
  static task<std::optional<completed<int>>> next(as_completed<int>& of) { co_return co_await of.next(); }
  static task<> one_round(loop& there, score& mine, lengths& drawn) {
    constexpr std::size_t n = 4;
    std::vector<task<int>> tasks;
    for (std::size_t i = 0; i != n; ++i) tasks.push_back(end_there(there, drawn.draw(), static_cast<int>(i)));
    as_completed<int> ends{co_await coro::this_environment(), std::move(tasks)};
    int seen[n] = {};
    for (;;) {
      auto first = co_await when_any_settled(next(ends), nap(drawn.draw() / 2));
      if (!first.ok<0>()) {
        ++mine.lost;
        continue;
      }
      std::optional<completed<int>> one = std::move(first).get<0>();
      if (!one) break;
      ++mine.won;
      EXPECT_EQ(one->value(), static_cast<int>(one->index()));
      ++seen[one->index()];
    }
    for (const int times : seen) EXPECT_EQ(times, 1);
    co_await ends.join();
  }
  static task<> run(loop& there, score& mine) {
    lengths drawn(51);
    while (mine.total() < races) co_await one_round(there, mine, drawn);
  }
};

TEST_P(ending_races, EachEndOfATaskIsGivenOnce) {
  score s;
  rt().spawn_on(here(), endings::run(there(), s));
  rt().run();
  expect_both_happened(s);
}

}  // namespace
}  // namespace coracle::testing_support::completion_races_test
