#include "coracle/runtime/sim.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace coracle::sim::sim_world_test {
namespace {

using namespace std::chrono_literals;

task<> naps(int n, duration each, int& done) {
  // sleeps on purpose: virtual time
  for (int i = 0; i < n; ++i) co_await sleep_for(each);
  ++done;
}

task<> sleep_long() { co_await sleep_for(24h); }  // sleeps on purpose: virtual time

TEST(SimWorld, AYearPassesAtOnce) {
  world w(1);
  const time_point start = w.now();
  int done = 0;
  sync_wait(w.host("a"), naps(365, 24h, done));
  EXPECT_EQ(done, 1);
  EXPECT_EQ(w.now() - start, 365 * 24h);
}

TEST(SimWorld, TimersFireAtTheirVeryTime) {
  struct check {
    static task<> at(duration d) {
      const time_point due = deadline_after(coro::this_executor().now(), d);
      co_await sleep_until(due);
      EXPECT_EQ(coro::this_executor().now(), due);
    }
    static task<> all() {
      co_await when_all(at(1ns), at(999ns), at(1ms), at(64ms + 1ns), at(1h + 7ns), at(1000h));
    }
  };
  world w(1);
  sync_wait(w.host("a"), check::all());
}

TEST(SimWorld, RunEndsWhenNothingIsLeftToDo) {
  world w(1);
  int done = 0;
  w.host("a").spawn(naps(3, 1h, done));
  w.host("b").spawn(naps(5, 1min, done));
  w.run();
  EXPECT_EQ(done, 2);
}

TEST(SimWorld, RunUntilSaysWhetherItCame) {
  world w(1);
  int done = 0;
  w.host("a").spawn(naps(1, 1h, done));
  w.host("a").spawn(naps(1, 2h, done));
  EXPECT_TRUE(w.run_until([&] { return done == 1; }));
  EXPECT_FALSE(w.run_until([&] { return done == 3; }));
  EXPECT_EQ(done, 2);
}

TEST(SimWorld, RunForStopsOnTheDot) {
  world w(1);
  const time_point start = w.now();
  int done = 0;
  w.host("a").spawn(naps(1'000'000, 1s, done));
  w.run_for(90min);
  EXPECT_EQ(w.now() - start, 90min);
  w.run_for(1ns);
  EXPECT_EQ(w.now() - start, 90min + 1ns);
  EXPECT_EQ(done, 0);
  // The root keeps sleeping; the end of the world stops it.
}

TEST(SimWorld, HostsHaveAddresses) {
  world w(1);
  runtime& a = w.host("a");
  w.host("b", 3);
  EXPECT_EQ(&w.host("a"), &a);
  EXPECT_EQ(w.host("b").size(), 3u);
  EXPECT_EQ(w.address_of("a"), "10.0.0.1");
  EXPECT_EQ(w.address_of("b"), "10.0.0.2");
  EXPECT_EQ(a.backend_name(), "sim");
}

// What a task observes of a jump of the wall clock of its host, and of another host.
struct seen_of_a_jump {
  duration wall{};
  duration present{};
  duration slept{};
};
task<> look_at_a_jump(world& w, std::string host, duration by, seen_of_a_jump& seen) {
  loop& here = *loop::current();
  const auto wall = here.wall_now();
  const time_point began = here.now();
  w.jump_wall_clock(host, by);
  seen.wall = here.wall_now() - wall;
  seen.present = here.now() - began;
  (void)co_await with_timeout(2h, sleep_long());
  seen.slept = here.now() - began;
}

TEST(SimWorld, AJumpOfTheWallClockMovesNoTimer) {
  for (const duration by : {duration(72h), duration(-72h)}) {
    world w(1);
    w.host("other");
    seen_of_a_jump own;
    sync_wait(w.host("a"), look_at_a_jump(w, "a", by, own));
    EXPECT_EQ(own.wall, by);
    EXPECT_EQ(own.present, 0s);
    EXPECT_EQ(own.slept, 2h);
    seen_of_a_jump others;
    sync_wait(w.host("a"), look_at_a_jump(w, "other", by, others));
    EXPECT_EQ(others.wall, 0s);
    EXPECT_EQ(others.slept, 2h);
  }
}

TEST(SimWorld, NobodyWatchesForASignal) {
  world w(1);
  w.host("a");
  EXPECT_FALSE(w.signal("a", process_signal::terminate));
}

// Loops compete for a log: the seed determines the order, and always the same one.
task<> write_names(char name, std::string& log) {
  for (int i = 0; i < 20; ++i) {
    log += name;
    co_await sleep_for(1ms);  // sleeps on purpose: virtual time
  }
}

std::string order_of(std::uint64_t seed) {
  world w(seed);
  std::string log;
  runtime& rt = w.host("a", 3);
  for (std::size_t i = 0; i < 3; ++i) rt.spawn_on(rt.at(i), write_names(static_cast<char>('a' + i), log));
  w.run();
  return log;
}

TEST(SimWorld, TheSeedDrawsTheOrderOfLoops) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(order_of(seed), order_of(seed));
  EXPECT_NE(order_of(1), order_of(2));
}

task<int> slow_answer() {
  const int answer = co_await offload([] { return 42; });
  co_return answer;
}

TEST(SimWorld, OffloadTakesVirtualTime) {
  world w(1);
  const time_point start = w.now();
  EXPECT_EQ(sync_wait(w.host("a"), slow_answer()), 42);
  EXPECT_GT(w.now(), start);
}

TEST(SimWorldDeathTest, WhatNeverComesIsToldNotWaitedFor) {
  struct wait {
    static task<> for_ever() {
      event<> never_set;
      co_await never_set;
    }
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        world w(1);
        sync_wait(w.host("a"), wait::for_ever());
      },
      "deadlock: the simulated world has no event left");
}

}  // namespace
}  // namespace coracle::sim::sim_world_test
