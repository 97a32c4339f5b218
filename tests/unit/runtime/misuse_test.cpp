// A user's mistake throws or aborts, states the fix, and names the line of the task that made it, not of the
// one that awaited last.
#include "support/misuse.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace coracle::misuse_test {
namespace {

using namespace std::chrono_literals;

task<> nothing() { co_return; }

void destroy(runtime& rt) { delete &rt; }
void block(runtime& rt) { sync_wait(rt, nothing()); }
void unlock_twice(runtime&) {
  mutex m;
  mutex::guard held = m.try_lock();
  held.unlock();
  held.unlock();
}

task<> misbehave(runtime& rt, void (*how)(runtime&)) {
  co_await sleep_for(2ms);
  how(rt);
}
task<> misbehave_by_awaiting_twice() {
  co_await sleep_for(2ms);
  task<> once = nothing();
  co_await std::move(once);
  co_await std::move(once);
}
// Its awaits are the last ones on the thread.
task<> behave() {
  co_await sleep_for(1ms);
  co_await sleep_for(1h);
}

std::string naming_the_task(const std::string& fix) {
  return fix + ".*at [^ ]*misuse_test.cpp:[0-9]+ in [^\n]*misbehave";
}
void expect_usage_error(task<> wrong(runtime&), const std::string& fix) {
  runtime rt;
  rt.spawn(behave());
  try {
    sync_wait(rt, wrong(rt));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::ContainsRegex(naming_the_task(fix)));
  }
}

TEST(MisuseDeathTest, DestroyingTheRuntimeFromItsLoop) {
  EXPECT_DEATH(
      {
        auto* rt = new runtime;
        rt->spawn(misbehave(*rt, destroy));
        rt->spawn(behave());
        rt->run();
      },
      naming_the_task("destroyed by a thread that drives no loop"));
}
TEST(Misuse, ABlockingWaitOnALoop) {
  expect_usage_error([](runtime& rt) { return misbehave(rt, block); },
                     "must not block on a task: co_await it");
}
TEST(Misuse, ALockUnlockedTwice) {
  expect_usage_error([](runtime& rt) { return misbehave(rt, unlock_twice); }, "unlock each guard once");
}
TEST(Misuse, ATaskAwaitedTwice) {
  expect_usage_error([](runtime&) { return misbehave_by_awaiting_twice(); }, "a task is awaited once");
}

TEST(Misuse, WaitingForATaskThatWasMovedFrom) {
  runtime rt;
  test::expect_misuse([&] { sync_wait(rt, task<>()); }, "a task is awaited once");
  test::expect_misuse([&] { sync_wait(rt, task<int>()); }, "a task is awaited once");
}
TEST(Misuse, SpawningATaskThatWasMovedFrom) {
  runtime rt;
  test::expect_misuse([&] { rt.spawn(task<>()); }, "a task is spawned or awaited once");
}

}  // namespace
}  // namespace coracle::misuse_test
