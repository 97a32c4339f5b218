#include "coracle/runtime/loop.hpp"

#include "coracle/coro/sleep.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace coracle::loop_counters_test {
namespace {

using namespace std::chrono_literals;

class LoopCounters : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, LoopCounters, testing_support::all_kinds, LoopCounters::case_name);

task<loop_counters> counted() { co_return loop::current()->stats(); }

// Real time: in a simulation no time passes while a thread sleeps.
class IdleLoop : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, IdleLoop, testing_support::kernel_kinds, IdleLoop::case_name);

TEST_P(IdleLoop, MakesNoTurns) {
  const loop_counters before = run(counted());
  std::this_thread::sleep_for(100ms);  // sleeps on purpose: what is counted is what happens meanwhile
  const loop_counters spent = run(counted()) - before;
  EXPECT_GE(spent.turns, 1u);
  EXPECT_LE(spent.turns, 8u) << "those of the end of one task, of the wake and of the next task";
  EXPECT_LE(spent.system_calls, 8u);
}

TEST_P(LoopCounters, CountWhatComesFromOtherThreads) {
  const loop_counters before = run(counted());
  const loop_counters spent = run(counted()) - before;
  EXPECT_GE(spent.remote_posts, 1u) << "the second task";
  EXPECT_LE(spent.remote_posts, 2u);
}

// Not inlined, since clang would merge its frame into that of its awaiter.
[[gnu::noinline]] task<> nap(int times) {
  for (int i = 0; i < times; ++i) co_await sleep_for(1ms);
}

task<loop_counters> spent_on_naps(int times) {
  const loop_counters before = loop::current()->stats();
  co_await nap(times);
  co_return loop::current()->stats() - before;
}

TEST_P(LoopCounters, CountTimersFramesAndTheTurnsBetween) {
  const loop_counters spent = run(spent_on_naps(5));
  EXPECT_EQ(spent.timers, 5u);
  EXPECT_EQ(spent.frames, 1u);
  EXPECT_GE(spent.turns, 5u);
  EXPECT_LE(spent.turns, 20u);
}

task<loop_counters> spent_on_rest(duration d) {
  const loop_counters before = loop::current()->stats();
  co_await sleep_for(d);
  co_return loop::current()->stats() - before;
}

TEST(IdleLoopInASimulation, MakesAFewTurnsADay) {
  sim::world world(1);
  const loop_counters spent = sync_wait(world.host("host"), spent_on_rest(24h));
  EXPECT_EQ(spent.timers, 1u);
  EXPECT_GE(spent.turns, 1u);
  EXPECT_LE(spent.turns, 16u) << "those of a timer that is far away";
}

struct counting_work : coro::runnable {
  explicit counting_work(int& ran) : count(ran) {
    run = [](coro::runnable& w) noexcept { ++static_cast<counting_work&>(w).count; };
  }
  int& count;
};

task<loop_counters> spent_on_works(int& ran) {
  loop& here = *loop::current();
  counting_work posted(ran);
  counting_work hooked(ran);
  const loop_counters before = here.stats();
  here.post(posted);
  here.at_turn_end(hooked);
  co_await sleep_for(1ms);
  co_return here.stats() - before;
}

TEST_P(LoopCounters, CountWorksAndHooks) {
  int ran = 0;
  EXPECT_GE(run(spent_on_works(ran)).resumes, 2u);
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace coracle::loop_counters_test
