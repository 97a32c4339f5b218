#include "coracle/runtime/runtime.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "support/kept_log.hpp"
#include "support/misuse.hpp"
#include "support/uring_faults.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace coracle::runtime_test {
namespace {

using namespace std::chrono_literals;

// Both kernel backends, with one loop and with three.
class runtime_test : public testing::TestWithParam<std::tuple<backend_choice, std::size_t>> {
 protected:
  void SetUp() override {
    const auto [asked, loops] = GetParam();
    try {
      rt_.emplace(
          runtime_options{.loops = loops, .backend = testing_support::or_what_is_left(asked), .log = &log_});
    } catch (const status_error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  runtime& rt() { return *rt_; }
  testing_support::kept_log log_;
  std::optional<runtime> rt_;
};

task<> count(std::atomic<int>& n) {
  ++n;
  co_return;
}
task<> sleep_then_count(std::atomic<int>& n, duration d) {
  co_await sleep_for(d);
  ++n;
}
task<> until_stopped(std::atomic<int>& n) {
  try {
    co_await sleep_for(24h);
  } catch (const coro::cancelled&) {
    ++n;
    throw;
  }
}
task<> spawn_tree(runtime& rt, std::atomic<int>& n, int depth) {
  ++n;
  co_await sleep_for(0ms);
  if (depth == 0) co_return;
  rt.spawn(spawn_tree(rt, n, depth - 1));
  rt.spawn(spawn_tree(rt, n, depth - 1));
}
task<> fail(const char* reason) {
  co_await sleep_for(1ms);
  throw std::runtime_error(reason);
}
task<> stop_from_inside(runtime& rt) {
  co_await sleep_for(1ms);
  rt.stop();
}
task<std::size_t> index_here() { co_return loop::current()->index(); }

task<std::chrono::system_clock::time_point> wall_here() { co_return loop::current()->wall_now(); }

// One hour of tolerance, since the clock may be set meanwhile.
TEST_P(runtime_test, LoopsTellTheTimeOfDay) {
  const auto before = std::chrono::system_clock::now();
  for (std::size_t i = 0; i < rt().size(); ++i) {
    const auto observed = sync_wait(rt(), rt().at(i), wall_here());
    EXPECT_GT(observed, before - 1h);
    EXPECT_LT(observed, before + 1h);
  }
}

TEST(runtime_of_loops, HasSoManyOrOneACore) {
  EXPECT_EQ(runtime(3).size(), 3u);
  EXPECT_EQ(runtime(std::size_t{0}).size(), runtime(runtime_options{.loops = 0}).size());
}

TEST_P(runtime_test, RunReturnsAtOnceWithoutRoots) {
  rt().run();
  std::atomic<int> n{0};
  rt().spawn(sleep_then_count(n, 0ms));
  rt().run();
  EXPECT_EQ(n, 1) << "the runtime was not stopped";
}

TEST_P(runtime_test, RunReturnsWhenTheLastRootIsDone) {
  std::atomic<int> n{0};
  for (int i = 0; i < 10; ++i) rt().spawn(sleep_then_count(n, i * 1ms));
  EXPECT_EQ(n, 0) << "nothing runs inside spawn()";
  rt().run();
  EXPECT_EQ(n, 10);
}

TEST_P(runtime_test, RunMayBeCalledAgain) {
  std::atomic<int> n{0};
  for (int i = 0; i < 5; ++i) {
    rt().spawn(sleep_then_count(n, 1ms));
    rt().run();
  }
  EXPECT_EQ(n, 5);
}

TEST_P(runtime_test, RootsMaySpawnRootsWithoutBound) {
  std::atomic<int> n{0};
  rt().spawn(spawn_tree(rt(), n, 12));
  rt().run();
  EXPECT_EQ(n, (1 << 13) - 1);
}

TEST_P(runtime_test, SpawnTakesAFunctionAndItsArguments) {
  std::atomic<int> n{0};
  auto add = [](std::atomic<int>& to, int value) -> task<> {
    to += value;
    co_return;
  };
  rt().spawn(add, std::ref(n), 5);
  rt().spawn(count, std::ref(n));
  rt().run();
  EXPECT_EQ(n, 6);
}

TEST_P(runtime_test, SpawnGoesRoundTheLoopsAndSpawnOnDoesNot) {
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < rt().size(); ++i) seen.insert(sync_wait(rt(), index_here()));
  EXPECT_EQ(seen.size(), rt().size());
  for (std::size_t i = 0; i < rt().size(); ++i) EXPECT_EQ(sync_wait(rt(), rt().at(i), index_here()), i);
}

TEST_P(runtime_test, SpawnsFromManyThreadsDuringRunAllRun) {
  std::atomic<int> n{0};
  std::optional<runtime::work_guard> guard(rt().keep_running());
  std::vector<std::thread> spawners;
  std::atomic<int> left{4};
  for (int t = 0; t < 4; ++t)
    spawners.emplace_back([&] {
      for (int i = 0; i < 500; ++i) rt().spawn(count(n));
      if (--left == 0) guard->release();
    });
  rt().run();
  for (std::thread& t : spawners) t.join();
  EXPECT_EQ(n, 2000);
}

TEST_P(runtime_test, AWorkGuardKeepsItRunningUntilItIsReleased) {
  auto guard = rt().keep_running();
  const time_point when = rt().now() + 5ms;
  EXPECT_TRUE(rt().run_until(when)) << "the guard is what is left";
  EXPECT_GE(rt().now(), when) << "it did not stay inside";
  guard.release();
  EXPECT_FALSE(rt().run_for(24h));
}

TEST_P(runtime_test, AWorkGuardReleasedElsewhereEndsRun) {
  auto guard = rt().keep_running();
  std::atomic<bool> inside{false};
  std::atomic<bool> released{false};
  std::thread releaser([&] {
    inside.wait(false);
    released = true;
    guard.release();
  });
  const auto keep_going = [&inside] {
    inside = true;  // by the loop itself, before it waits for the first time
    inside.notify_one();
    return true;
  };
  EXPECT_FALSE(rt().run_while(keep_going));
  EXPECT_TRUE(released);
  keep_going();  // whatever prevented run_while(): the thread ends
  releaser.join();
}

TEST_P(runtime_test, AWorkGuardReleasedRightBeforeATurnEndsRun) {
  auto guard = rt().keep_running();
  // Between the check for remaining work and the turn, which would sleep forever; another thread may do the
  // same.
  const auto keep_going = [&guard] {
    guard.release();
    return true;
  };
  EXPECT_FALSE(rt().run_while(keep_going));
}

TEST_P(runtime_test, StopEndsTheRootsAndThenRun) {
  std::atomic<int> stopped{0};
  for (int i = 0; i < 6; ++i) rt().spawn(until_stopped(stopped));
  auto guard = rt().keep_running();
  rt().spawn(stop_from_inside(rt()));
  rt().run();
  EXPECT_EQ(stopped, 6);
  EXPECT_TRUE(rt().stopping());
}

TEST_P(runtime_test, StopFromAnotherThreadWhileEverythingSleeps) {
  std::atomic<int> stopped{0};
  rt().spawn(until_stopped(stopped));
  std::thread stopper([&] { rt().stop(); });
  rt().run();
  stopper.join();
  EXPECT_EQ(stopped, 1);
}

runtime* signalled = nullptr;

TEST_P(runtime_test, StopIsSafeInASignalHandler) {
  signalled = &rt();
  struct sigaction before{};
  struct sigaction ours{};
  ours.sa_handler = [](int) { signalled->stop(); };
  ::sigaction(SIGUSR1, &ours, &before);
  std::atomic<int> stopped{0};
  rt().spawn(until_stopped(stopped));
  auto raise_it = []() -> task<> {
    co_await sleep_for(1ms);
    ::kill(::getpid(), SIGUSR1);  // not raise(): the library's own threads take no signals
  };
  rt().spawn(raise_it());
  rt().run();
  EXPECT_EQ(stopped, 1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_P(runtime_test, ARootSpawnedAfterStopFindsItsTokenFired) {
  rt().stop();
  rt().run();
  std::atomic<int> stopped{0};
  rt().spawn(until_stopped(stopped));
  rt().run();
  EXPECT_EQ(stopped, 1);
}

TEST_P(runtime_test, AnExceptionOfARootStopsTheOthersAndComesOutOfRun) {
  std::atomic<int> stopped{0};
  rt().spawn(until_stopped(stopped));
  rt().spawn(fail("the root broke"));
  EXPECT_THROW(rt().run(), std::runtime_error);
  EXPECT_EQ(stopped, 1);
  EXPECT_NE(log_.text().find("the root broke"), std::string::npos);
}

TEST_P(runtime_test, StartDrivesItInTheBackgroundAndRunOnlyWaits) {
  rt().start();
  rt().start();
  std::atomic<int> n{0};
  rt().spawn(sleep_then_count(n, 1ms));
  rt().run();
  EXPECT_EQ(n, 1);
}

TEST_P(runtime_test, TheDestructorStopsAndJoinsWhatRuns) {
  std::atomic<int> stopped{0};
  for (int i = 0; i < 4; ++i) rt().spawn(until_stopped(stopped));
  rt().start();
  rt_.reset();
  EXPECT_EQ(stopped, 4);
}

TEST_P(runtime_test, TheDestructorEndsRootsThatNobodyEverDrove) {
  std::atomic<int> stopped{0};
  for (int i = 0; i < 4; ++i) rt().spawn(until_stopped(stopped));
  rt_.reset();
  EXPECT_EQ(stopped, 4);
}

TEST_P(runtime_test, ItMayRunHereAndBeDestroyedElsewhere) {
  std::atomic<int> stopped{0};
  rt().spawn(sleep_then_count(stopped, 1ms));
  rt().run();
  for (int i = 0; i < 3; ++i) rt().spawn(until_stopped(stopped));
  std::thread([&] { rt_.reset(); }).join();
  EXPECT_EQ(stopped, 4);
}

TEST_P(runtime_test, RunMayChangeThreads) {
  std::atomic<int> n{0};
  for (int i = 0; i < 4; ++i) {
    rt().spawn(sleep_then_count(n, 1ms));
    std::thread([&] { rt().run(); }).join();
  }
  EXPECT_EQ(n, 4);
}

TEST_P(runtime_test, SyncWaitGivesValuesAndExceptions) {
  auto value = []() -> task<std::unique_ptr<int>> {
    co_await sleep_for(1ms);
    co_return std::make_unique<int>(5);
  };
  EXPECT_EQ(*sync_wait(rt(), value()), 5);
  EXPECT_THROW(sync_wait(rt(), fail("to the waiter")), std::runtime_error);
  EXPECT_FALSE(rt().stopping()) << "what a waiter gets has not escaped";
}

TEST_P(runtime_test, SyncWaitFromManyThreads) {
  std::atomic<int> sum{0};
  std::vector<std::thread> threads;
  auto add = [](int a, int b) -> task<int> {
    co_await sleep_for(0ms);
    co_return a + b;
  };
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) sum += sync_wait(rt(), add(1, 1));
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sum, 1600);
}

TEST_P(runtime_test, SaysItsBackend) {
  if (testing_support::io_uring_is_to_refuse())
    GTEST_SKIP() << "tests of ChooseBackend say what is told then";
  const bool epoll = std::get<0>(GetParam()) == backend_choice::epoll;
  EXPECT_EQ(rt().backend_name(), epoll ? "epoll" : "io_uring");
  EXPECT_NE(log_.text().find(epoll ? "on epoll: requested by the program"
                                   : "on io_uring: requested by the program"),
            std::string::npos)
      << log_.text();
}

TEST(RuntimeLog, EachRuntimeHasASinkAndALeastLevelOfItsOwn) {
  testing_support::kept_log info;
  testing_support::kept_log errors;
  errors.set_min_level(log_level::error);
  runtime one(runtime_options{.log = &info});
  runtime another(runtime_options{.log = &errors});
  EXPECT_NE(info.text(), "");
  EXPECT_EQ(errors.text(), "") << "what it runs on is told at info";
  another.spawn(fail("on purpose"));
  EXPECT_THROW(another.run(), std::runtime_error);
  EXPECT_NE(errors.text().find("on purpose"), std::string::npos);
  EXPECT_EQ(info.text().find("on purpose"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Kernel, runtime_test,
                         testing::Combine(testing::Values(backend_choice::io_uring, backend_choice::epoll),
                                          testing::Values(1u, 3u)),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param) == backend_choice::epoll ? "epoll"
                                                                                            : "io_uring") +
                                  std::to_string(std::get<1>(p.param));
                         });

TEST(RuntimeMisuse, SyncWaitOnALoopThrows) {
  auto inner = []() -> task<int> { co_return 1; };
  auto outer = [](runtime& rt, auto in) -> task<> {
    sync_wait(rt, in());
    co_return;
  };
  runtime rt;
  test::expect_misuse([&] { sync_wait(rt, outer(rt, inner)); }, "must not block on a task");
}

TEST(RuntimeMisuse, RunOnALoopThrows) {
  auto outer = [](runtime& rt) -> task<> {
    rt.run();
    co_return;
  };
  runtime rt;
  test::expect_misuse([&] { sync_wait(rt, outer(rt)); }, "must not block on a task");
}

TEST(RuntimeDeathTest, DestroyingItOnItsLoopAborts) {
  auto outer = [](runtime* rt) -> task<> {
    delete rt;
    co_return;
  };
  EXPECT_DEATH(
      {
        auto* rt = new runtime;
        rt->spawn(outer(rt));
        rt->run();
      },
      "destroyed by a thread that drives no loop");
}

}  // namespace
}  // namespace coracle::runtime_test
