// Which thread drives a runtime, and how long: run_until() and similar functions, poll(), stop() and
// restart().
#include "coracle/runtime/runtime.hpp"

#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/runtime/on.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coro/post_function.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace coracle::runtime_driving_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;

class driving : public testing::TestWithParam<std::tuple<world_kind, std::size_t>> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  runtime& rt() { return *world_.get(); }
  std::atomic<int> stopped_{0};  // outlives the roots
  any_world world_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};
// A simulated world supports one thread.
class driving_by_two_threads : public driving {};

task<> sleep_then_count(std::atomic<int>& n, duration d) {
  co_await sleep_for(d);
  ++n;
}
task<> yield_then_count(std::atomic<int>& n, int times) {
  for (int i = 0; i < times; ++i) co_await yield();
  ++n;
}
task<> sleep_for_ever(std::atomic<int>& stopped) {
  try {
    co_await sleep_for(24h);
  } catch (const coro::cancelled&) {
    ++stopped;
    throw;
  }
}
task<> fail() {
  co_await yield();
  throw std::runtime_error("the root broke");
}

TEST_P(driving, RunUntilReturnsAtItsTimeAndGoesOnLater) {
  std::atomic<int> n{0};
  std::atomic<int> stopped{0};
  rt().spawn(sleep_for_ever(stopped));
  rt().spawn(sleep_then_count(n, 3ms));
  const time_point begin = rt().now();
  EXPECT_TRUE(rt().run_until(begin + 1ms));
  EXPECT_GE(rt().now(), begin + 1ms);
  while (n == 0) EXPECT_TRUE(rt().run_for(1ms));
  rt().stop();
  EXPECT_FALSE(rt().run_for(24h)) << "it does not wait for its time without roots";
  EXPECT_EQ(stopped, 1);
}

TEST_P(driving, RunUntilATimeThatHasPassedReturns) {
  rt().spawn(sleep_for_ever(stopped_));
  EXPECT_TRUE(rt().run_until(time_point::min()));
  EXPECT_TRUE(rt().run_for(0ms));
}

TEST_P(driving, RunWhileAsksBetweenTurns) {
  std::atomic<int> n{0};
  std::atomic<int> stopped{0};
  rt().spawn_on(rt().at(0), sleep_for_ever(stopped));
  for (int i = 1; i <= 3; ++i) rt().spawn_on(rt().at(0), sleep_then_count(n, i * 1ms));
  EXPECT_TRUE(rt().run_while([&] { return n < 2; }));
  EXPECT_GE(n, 2);
  EXPECT_TRUE(rt().run_while([&] { return n < 3; }));
  rt().stop();
  EXPECT_FALSE(rt().run_while([] { return true; }));
}

TEST_P(driving, PollTurnsAndDoesNotWait) {
  std::atomic<int> n{0};
  std::atomic<int> stopped{0};
  rt().spawn_on(rt().at(0), sleep_for_ever(stopped));
  rt().spawn_on(rt().at(0), yield_then_count(n, 3));
  int polls = 0;
  while (n == 0 && polls < 100) {
    EXPECT_TRUE(rt().poll());
    ++polls;
  }
  EXPECT_EQ(n, 1);
  EXPECT_GT(polls, 3) << "each poll() is one turn";
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(rt().poll());
  rt().stop();
  while (rt().poll()) {
  }
  EXPECT_EQ(stopped, 1);
}

TEST_P(driving, AnExceptionComesOutOfTheLastPoll) {
  rt().spawn_on(rt().at(0), fail());
  EXPECT_THROW(
      {
        while (rt().poll()) {
        }
      },
      std::runtime_error);
  EXPECT_FALSE(rt().poll());
}

TEST_P(driving, RunOnThePollingThreadGoesOnWithItsLoop) {
  std::atomic<int> n{0};
  rt().poll();
  for (std::size_t i = 0; i < rt().size(); ++i) rt().spawn_on(rt().at(i), sleep_then_count(n, 1ms));
  rt().run();
  EXPECT_EQ(static_cast<std::size_t>(n), rt().size());
  EXPECT_FALSE(rt().poll());
}

TEST_P(driving, SyncWaitOnThePollingThreadDrivesItself) {
  rt().poll();
  auto index_here = []() -> task<std::size_t> {
    co_await sleep_for(1ms);
    co_return loop::current()->index();
  };
  for (std::size_t i = 0; i < rt().size(); ++i) EXPECT_EQ(sync_wait(rt(), rt().at(i), index_here()), i);
}

TEST_P(driving_by_two_threads, AfterLeaveAnotherThreadMayPoll) {
  std::atomic<int> n{0};
  for (int i = 0; i < 4; ++i) {
    rt().spawn_on(rt().at(0), sleep_then_count(n, 1ms));
    std::thread([&] {
      while (rt().poll()) std::this_thread::yield();
      rt().release_loop();
    }).join();
  }
  EXPECT_EQ(n, 4);
}

// Drives the runtime for a moment; returns once it does.
std::thread drive_for_a_moment(runtime& rt, std::atomic<bool>& begun) {
  auto mark = [](std::atomic<bool>& b) -> task<> {
    b = true;
    b.notify_all();
    co_return;
  };
  rt.spawn_on(rt.at(0), mark(begun));
  std::thread driver([&rt] { rt.run_for(20ms); });
  begun.wait(false);
  return driver;
}

// A waiting thread is woken when no thread drives the loop any more.
TEST_P(driving_by_two_threads, SyncWaitOutlivesARunForOfAnotherThread) {
  std::atomic<bool> begun{false};
  std::atomic<int> n{0};
  rt().spawn_on(rt().at(0), sleep_then_count(n, 300ms));
  std::thread driver = drive_for_a_moment(rt(), begun);
  sync_wait(rt(), rt().at(0), sleep_then_count(n, 100ms));
  driver.join();
  EXPECT_GE(n, 1);
  rt().run();
  EXPECT_EQ(n, 2);
}

TEST_P(driving_by_two_threads, RunOutlivesARunForOfAnotherThread) {
  std::atomic<bool> begun{false};
  std::atomic<int> n{0};
  rt().spawn_on(rt().at(0), sleep_then_count(n, 100ms));
  std::thread driver = drive_for_a_moment(rt(), begun);
  rt().run();
  driver.join();
  EXPECT_EQ(n, 1);
}

TEST_P(driving, WithoutAStopRestartDoesNothing) {
  std::atomic<int> n{0};
  rt().spawn(sleep_then_count(n, 1ms));
  rt().restart();
  rt().run();
  EXPECT_EQ(n, 1);
}

TEST_P(driving, AfterRestartRootsRunAgain) {
  for (int round = 1; round <= 3; ++round) {
    std::atomic<int> stopped{0};
    std::atomic<int> n{0};
    for (std::size_t i = 0; i < rt().size(); ++i) rt().spawn_on(rt().at(i), sleep_for_ever(stopped));
    rt().run_for(100us);
    rt().stop();
    rt().run();
    EXPECT_EQ(static_cast<std::size_t>(stopped), rt().size());
    EXPECT_TRUE(rt().stopping());
    rt().restart();
    EXPECT_FALSE(rt().stopping());
    for (std::size_t i = 0; i < rt().size(); ++i) rt().spawn_on(rt().at(i), sleep_then_count(n, 1ms));
    rt().run();
    EXPECT_EQ(static_cast<std::size_t>(n), rt().size())
        << "the token of round " << round << " does not fire again";
  }
}

TEST_P(driving, StopAndRestartWithoutARunBetween) {
  std::atomic<int> n{0};
  rt().stop();
  rt().restart();
  rt().spawn(sleep_then_count(n, 1ms));
  rt().run();
  EXPECT_EQ(n, 1);
}

// Without threads of the runtime: threads of the program drive each loop.
class driving_loops : public testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    const auto asked = GetParam() == world_kind::epoll ? backend_choice::epoll : backend_choice::io_uring;
    rt_.emplace(runtime_options{
        .loops = 3, .backend = testing_support::or_what_is_left(asked), .own_threads = false});
  }
  std::atomic<int> stopped_{0};  // outlives the roots
  std::optional<runtime> rt_;
};

TEST_P(driving_loops, EachOnAThreadOfTheProgram) {
  std::atomic<int> n{0};
  std::atomic<bool> all{false};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { rt_->run_loop(rt_->at(i), [&] { return !all.load(); }); });
  auto ends_all = [](runtime& rt, std::atomic<int>& count, std::atomic<bool>& ended) -> task<> {
    for (std::size_t i = 0; i < 3; ++i) {
      auto there = yield_then_count(count, 3);
      co_await on(rt.at(i), std::move(there));
    }
    ended = true;
    for (std::size_t i = 0; i < 3; ++i) coro::post_function(rt.at(i), [] { loop::current()->end_turn(); });
  };
  rt_->spawn_on(rt_->at(1), ends_all(*rt_, n, all));
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(n, 3);
}

TEST_P(driving_loops, OneThreadAfterAnother) {
  auto sleeps = [](std::atomic<int>& count) -> task<> {
    co_await sleep_for(1ms);
    ++count;
    loop::current()->end_turn();
  };
  std::atomic<int> n{0};
  rt_->start();  // has no threads to start
  for (int i = 1; i <= 4; ++i) {
    rt_->spawn_on(rt_->at(2), sleeps(n));
    std::thread([&] { rt_->run_loop(rt_->at(2), [&] { return n < i; }); }).join();
    EXPECT_EQ(n, i);
  }
}

TEST_P(driving_loops, TheDestructorDrivesWhatIsLeft) {
  for (std::size_t i = 0; i < 3; ++i) rt_->spawn_on(rt_->at(i), sleep_for_ever(stopped_));
  rt_.reset();
  EXPECT_EQ(stopped_, 3);
}

TEST_P(driving_loops, AnExceptionOfARootIsLoggedAlone) {
  rt_->spawn_on(rt_->at(1), fail());
  rt_->run_loop(rt_->at(1), [this] { return !rt_->stopping(); });
  EXPECT_TRUE(rt_->stopping());
}

INSTANTIATE_TEST_SUITE_P(Backends, driving_loops, testing_support::kernel_kinds,
                         [](const auto& p) { return testing_support::name_of(p.param); });

std::string case_name(const testing::TestParamInfo<driving::ParamType>& p) {
  return testing_support::name_of(std::get<0>(p.param)) + std::to_string(std::get<1>(p.param));
}
INSTANTIATE_TEST_SUITE_P(Backends, driving,
                         testing::Combine(testing_support::all_kinds, testing::Values(1u, 3u)), case_name);
INSTANTIATE_TEST_SUITE_P(Backends, driving_by_two_threads,
                         testing::Combine(testing_support::kernel_kinds, testing::Values(1u, 3u)), case_name);

TEST(DrivingDeathTest, RestartWithRootsLeftAborts) {
  EXPECT_DEATH(
      {
        runtime rt;
        std::atomic<int> n{0};
        rt.spawn(sleep_for_ever(n));
        rt.stop();
        rt.restart();
      },
      "restart\\(\\) before the root tasks have ended");
}

TEST(DrivingDeathTest, PollingOnASecondThreadAborts) {
  EXPECT_DEATH(
      {
        runtime rt;
        rt.poll();
        std::thread([&] { rt.poll(); }).join();
      },
      "two threads drive one loop: call poll\\(\\) on the first");
}

TEST(DrivingDeathTest, DestroyingItWhileAnotherThreadKeepsLoop0Aborts) {
  EXPECT_DEATH(
      {
        auto* rt = new runtime;
        std::thread([&] { rt->poll(); }).join();
        delete rt;
      },
      "two threads drive one loop: let the one that called poll\\(\\) call release_loop");
}

TEST(DrivingDeathTest, RunLoopOnASecondThreadAborts) {
  EXPECT_DEATH(
      {
        runtime rt({.own_threads = false});
        std::atomic<bool> driven{false};
        coro::post_function(rt.at(0), [&] { driven = true; });
        std::thread first([&] { rt.run_loop(rt.at(0), [] { return true; }); });
        while (!driven) std::this_thread::yield();
        rt.run_loop(rt.at(0), [] { return true; });
      },
      "two threads drive one loop: let run_loop\\(\\) return");
}

TEST(DrivingMisuse, RunLoopOfARuntimeWithThreadsThrows) {
  runtime rt;
  test::expect_misuse([&] { rt.run_loop(rt.at(0), [] { return false; }); }, "own_threads = false");
}

// Of two tasks that have awaited in turn, the report names the one that made the mistake.
TEST(DrivingMisuse, TheTaskThatRunsIsNamedAndNotTheOneThatAwaitedLast) {
  const int guilty = __LINE__ + 2;
  auto wrongs = [](runtime& rt) -> task<> {
    co_await sleep_for(2ms);
    rt.poll();
  };
  auto does_well = []() -> task<> {
    co_await sleep_for(1ms);
    co_await sleep_for(1h);
  };
  runtime rt;
  rt.spawn(does_well());
  test::expect_misuse([&] { sync_wait(rt, wrongs(rt)); },
                      "runtime_driving_test.cpp:" + std::to_string(guilty));
}

TEST(DrivingMisuse, PollOnALoopThrowsAndNamesTheTask) {
  auto outer = [](runtime& rt) -> task<> {
    co_await yield();
    rt.poll();
  };
  runtime rt;
  test::expect_misuse([&] { sync_wait(rt, outer(rt)); }, "runtime_driving_test.cpp");
}

}  // namespace
}  // namespace coracle::runtime_driving_test
