// Users' mistakes abort, say the mend, and name the line of the task that made them, whoever awaited last.
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace coracle {
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
// Its awaits are the last that the thread came by.
task<> behave() {
  co_await sleep_for(1ms);
  co_await sleep_for(1h);
}

void run(void (*how)(runtime&)) {
  auto* rt = new runtime;
  if (how) rt->spawn(misbehave(*rt, how));
  else rt->spawn(misbehave_by_awaiting_twice());
  rt->spawn(behave());
  rt->run();
}

std::string naming_the_task(const std::string& mend) {
  return mend + ".*at [^ ]*misuse_test.cpp:[0-9]+ in [^\n]*misbehave";
}

TEST(MisuseDeathTest, DestroyingTheRuntimeFromItsLoop) {
  EXPECT_DEATH(run(destroy), naming_the_task("destroyed by a thread that drives no loop"));
}
TEST(MisuseDeathTest, ABlockingWaitOnALoop) {
  EXPECT_DEATH(run(block), naming_the_task("must not block on a task: co_await it"));
}
TEST(MisuseDeathTest, ALockUnlockedTwice) {
  EXPECT_DEATH(run(unlock_twice), naming_the_task("unlock each guard once"));
}
TEST(MisuseDeathTest, ATaskAwaitedTwice) {
  EXPECT_DEATH(run(nullptr), naming_the_task("a task is awaited once"));
}

}  // namespace
}  // namespace coracle
