// A runtime inside another event loop, here poll(2): pollable() and poll().
#include "coracle/runtime/runtime.hpp"

#include "runtime/backend.hpp"
#include "support/every_backend.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/runtime/offload.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace coracle::foreign_loop_test {
namespace {

using namespace std::chrono_literals;

constexpr int long_ms = 20'000;  // nothing here waits so long unless it hangs

class foreign_loop : public testing_support::every_backend {
 protected:
  bool readable(int timeout_ms) {
    pollfd p{rt().pollable(), POLLIN, 0};
    return ::poll(&p, 1, timeout_ms) == 1;
  }
  // As a foreign loop would: turns while there is work.
  void settle() {
    for (int i = 0; i < 1000 && readable(0); ++i) rt().poll();
  }
  // Waits and turns until no work is left; returns the number of turns.
  int drive() {
    int turns = 0;
    while (rt().poll()) {
      ++turns;
      if (!readable(long_ms)) {
        ADD_FAILURE() << "nothing showed at the descriptor";
        return turns;
      }
    }
    return turns;
  }
};

task<> doze(int times, duration d) {
  for (int i = 0; i < times; ++i) co_await sleep_for(d);
}

TEST_P(foreign_loop, WithNothingToDoItIsNotReadable) {
  rt().spawn(doze(1, 24h));
  settle();
  EXPECT_FALSE(readable(0));
  rt().poll();
  EXPECT_FALSE(readable(0));
}

TEST_P(foreign_loop, QueuedWorkShowsAtOnce) {
  rt().spawn(doze(0, 0ms));
  EXPECT_TRUE(readable(long_ms));
  EXPECT_FALSE(rt().poll());
}

TEST_P(foreign_loop, WorkThatIsLeftOverShowsAtOnce) {
  auto yields = []() -> task<> {
    for (int i = 0; i < 100; ++i) co_await yield();
  };
  rt().spawn(yields());
  EXPECT_LE(drive(), 110);
}

TEST_P(foreign_loop, TimersAreMetWithoutSpinning) {
  rt().spawn(doze(10, 3ms));
  const time_point begin = rt().now();
  const int turns = drive();
  EXPECT_GE(rt().now() - begin, 30ms);
  EXPECT_LE(turns, 150) << "a few turns a timer";
}

TEST_P(foreign_loop, SpawnsOfOtherThreadsWakeIt) {
  auto guard = rt().keep_running();
  settle();
  for (int i = 0; i < 20; ++i) {
    std::thread other([&] { rt().spawn(doze(0, 0ms)); });
    EXPECT_TRUE(readable(long_ms));
    rt().poll();
    other.join();
    settle();
  }
}

TEST_P(foreign_loop, TheEndOnAnotherThreadShows) {
  auto guard = rt().keep_running();
  settle();
  std::thread other([&] { guard.release(); });
  drive();
  other.join();
  EXPECT_FALSE(rt().poll());
}

TEST_P(foreign_loop, AStopOfAnotherThreadShows) {
  rt().spawn(doze(1, 24h));
  settle();
  std::thread other([&] { rt().stop(); });
  drive();
  other.join();
}

TEST_P(foreign_loop, OffloadedCallsComeBack) {
  auto calls = []() -> task<> {
    // sleeps on purpose: a call that blocks
    for (int i = 0; i < 50; ++i) co_await offload([] { std::this_thread::sleep_for(100us); });
  };
  rt().spawn(calls());
  EXPECT_LE(drive(), 1000);
}

// Operations that are submitted by a turn and not by a wait.
struct reading : runtime_internal::operation {
  explicit reading(int fd) {
    type = kind::poll_in;
    on = fd;
    complete = [](runtime_internal::operation& op, std::int64_t) noexcept {
      static_cast<reading&>(op).done = true;
    };
  }
  bool done = false;
};

TEST_P(foreign_loop, IoShowsAndIsDeliveredOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto guard = rt().keep_running();
  settle();
  for (int i = 0; i < 20; ++i) {
    reading r(ends[0]);
    rt().at(0).io().submit(r);
    settle();
    EXPECT_FALSE(r.done);
    EXPECT_FALSE(readable(0));
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    while (!r.done) {
      ASSERT_TRUE(readable(long_ms));
      rt().poll();
    }
    char c = 0;
    EXPECT_EQ(::read(ends[0], &c, 1), 1);
    settle();
    EXPECT_FALSE(readable(0));
  }
  ::close(ends[1]);
  rt().at(0).io().close(ends[0]);
}

INSTANTIATE_TEST_SUITE_P(Backends, foreign_loop, testing_support::kernel_kinds,
                         testing_support::every_backend::case_name);

}  // namespace
}  // namespace coracle::foreign_loop_test
