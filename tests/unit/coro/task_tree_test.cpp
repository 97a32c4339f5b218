#include "coracle/coro/impl/task_tree.hpp"

#include "coracle/coro/async_generator.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace coracle::task_tree_test {
namespace {

using namespace std::chrono_literals;
using test::manual_executor;
using test::started;
using testing::ContainsRegex;
using testing::MatchesRegex;

task<> leaf(event<>& e) { co_await e; }
task<> middle(event<>& e) {
  co_await leaf(e);
  co_await leaf(e);
}
task<> top(event<>& e) { co_await middle(e); }

TEST(task_tree, AWaitingTaskStandsBelowItsAwaiter) {
  manual_executor loop;
  event<> e;
  started t(top(e));
  EXPECT_THAT(loop.tasks().describe(), MatchesRegex("[^\n]*top\\(.*\\) at task_tree_test.cpp:[0-9]+\n"
                                                    "  [^\n]*middle\\(.*\\) at task_tree_test.cpp:[0-9]+\n"
                                                    "    [^\n]*leaf\\(.*\\) at task_tree_test.cpp:[0-9]+\n"));
  e.set();
  loop.run();
  EXPECT_TRUE(t.ended());
  EXPECT_EQ(loop.tasks().describe(), "");
}

// GCC names the body of a coroutine twice.
TEST(task_tree, NamesAFunctionOfAnUnnamedNamespaceOnce) {
  manual_executor loop;
  event<> e;
  started t(leaf(e));
  EXPECT_THAT(loop.tasks().describe(), testing::Not(ContainsRegex("leaf.*leaf")));
  e.set();
  loop.run();
}

// A child's frame is destroyed when its await ends: nothing may read it then.
TEST(task_tree, ATaskMayLookAtTheTreeBetweenItsAwaits) {
  manual_executor loop;
  std::string seen;
  auto body = [](std::string& into) -> task<> {
    event<> set;
    set.set();
    co_await middle(set);
    into = coro::this_executor().tasks().describe();
  };
  const started t(body(seen));
  EXPECT_THAT(seen, MatchesRegex("[^\n]*operator\\(\\)[^\n]* at task_tree_test.cpp:[0-9]+\n"));
}

TEST(task_tree, TheLineIsThatOfTheLatestAwait) {
  manual_executor loop;
  event<> e;
  started t(middle(e));
  const std::string first = loop.tasks().describe();
  e.set();
  e.reset();
  loop.run();
  const std::string second = loop.tasks().describe();
  EXPECT_NE(first, second);
  e.set();
  loop.run();
  EXPECT_TRUE(t.ended());
}

TEST(task_tree, AFinishedChildIsNoLongerShown) {
  manual_executor loop;
  event<> e;
  event<> later;
  auto both = [](event<>& a, event<>& b) -> task<> {
    co_await leaf(a);
    co_await b;
  };
  started t(both(e, later));
  e.set();
  loop.run();
  EXPECT_THAT(loop.tasks().describe(), testing::Not(ContainsRegex("leaf")));
  later.set();
  loop.run();
  EXPECT_TRUE(t.ended());
}

task<> in_scope(event<>& e) {
  scope work{co_await coro::this_environment()};
  for (int i = 0; i < 3; ++i) work.spawn(leaf(e));
  co_await work.join();
}

TEST(task_tree, EqualTasksOfAScopeAreCountedBelowTheirOwner) {
  manual_executor loop;
  event<> e;
  started t(in_scope(e));
  EXPECT_THAT(loop.tasks().describe(),
              MatchesRegex("[^\n]*in_scope\\(.*\\) at task_tree_test.cpp:[0-9]+\n"
                           "  3 x [^\n]*leaf\\(.*\\) at task_tree_test.cpp:[0-9]+\n"));
  e.set();
  loop.run();
  EXPECT_TRUE(t.ended());
}

task<> asks(event<>& e) {
  co_await coro::this_environment();
  co_await e;
}

TEST(task_tree, AScopeThatInheritsNothingHangsItsTasksBelowNobody) {
  manual_executor loop;
  event<> e;
  started other(asks(e));  // the last task that awaited it, not the owner of the scope
  scope work;
  work.spawn(leaf(e));
  EXPECT_THAT(loop.tasks().describe(), MatchesRegex("[^\n]*asks\\(.*\\) at task_tree_test.cpp:[0-9]+\n"
                                                    "[^\n]*leaf\\(.*\\) at task_tree_test.cpp:[0-9]+\n"));
  e.set();
  loop.run();
  EXPECT_TRUE(other.ended());
  EXPECT_EQ(work.running(), 0u);
}

task<> all_of(event<>& e) { co_await when_all(leaf(e), middle(e)); }
task<> any_of(event<>& e) { co_await when_any(leaf(e), middle(e)); }
task<> limited(event<>& e) { (void)co_await with_timeout(1h, leaf(e)); }

TEST(task_tree, TasksOfCombinatorsStandBelowTheirAwaiter) {
  manual_executor loop;
  event<> e;
  started all(all_of(e));
  started any(any_of(e));
  started with_limit(limited(e));
  EXPECT_THAT(
      loop.tasks().describe(),
      MatchesRegex("[^\n]*all_of[^\n]*\n  [^\n]*leaf[^\n]*\n  [^\n]*middle[^\n]*\n    [^\n]*leaf[^\n]*\n"
                   "[^\n]*any_of[^\n]*\n  [^\n]*leaf[^\n]*\n  [^\n]*middle[^\n]*\n    [^\n]*leaf[^\n]*\n"
                   "[^\n]*limited[^\n]*\n  [^\n]*leaf[^\n]*\n"));
  e.set();
  loop.run();
  EXPECT_TRUE(all.ended() && any.ended() && with_limit.ended());
}

async_generator<int> numbers(event<>& e) {
  co_yield 1;
  co_await e;
  co_yield 2;
}
task<> read_all(event<>& e) {
  auto from = numbers(e);
  while (co_await from.next()) {
  }
}

TEST(task_tree, AGeneratorThatWaitsStandsBelowItsReader) {
  manual_executor loop;
  event<> e;
  started t(read_all(e));
  EXPECT_THAT(loop.tasks().describe(), MatchesRegex("[^\n]*read_all[^\n]*\n  [^\n]*numbers[^\n]*\n"));
  e.set();
  loop.run();
  EXPECT_TRUE(t.ended());
}

TEST(task_tree, AMisuseNamesTheAwaitOfTheTaskThatCommitsIt) {
  manual_executor loop;
  auto twice = []() -> task<> {
    task<> once = []() -> task<> { co_return; }();
    co_await std::move(once);
    co_await std::move(once);
  };
  started t(twice());
  test::expect_misuse([&] { std::rethrow_exception(t.error()); }, "a task is awaited once");
  test::expect_misuse([&] { std::rethrow_exception(t.error()); }, "task_tree_test.cpp:");
}

// The location reported with a misuse is that of the running coroutine.
TEST(task_tree, AGeneratorThatGoesOnAfterAYieldIsTheOneNoted) {
  const manual_executor loop;
  struct program {
    static async_generator<int> rows(int& yielded_at, int& seen) {
      yielded_at = __LINE__ + 1;
      co_yield 1;
      seen = static_cast<int>(base::last_await_site.line());
    }
    static task<> read(int& yielded_at, int& seen, int& mine, int& seen_by_me) {
      auto all = rows(yielded_at, seen);
      mine = __LINE__ + 1;
      while (co_await all.next()) seen_by_me = static_cast<int>(base::last_await_site.line());
    }
  };
  int yielded_at = 0;
  int seen = 0;
  int mine = 0;
  int seen_by_me = 0;
  const started t(program::read(yielded_at, seen, mine, seen_by_me));
  EXPECT_TRUE(t.ended());
  EXPECT_EQ(seen, yielded_at);
  EXPECT_EQ(seen_by_me, mine);
}

}  // namespace
}  // namespace coracle::task_tree_test
