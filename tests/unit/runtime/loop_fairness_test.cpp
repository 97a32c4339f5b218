// Busy work starves neither timers nor I/O nor the remote queue.
#include "runtime/backend.hpp"

#include "support/every_backend.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace coracle::loop_fairness_test {
namespace {

using namespace std::chrono_literals;

class fairness : public testing_support::every_backend {};
class kernel_fairness : public testing_support::every_backend {};

// Far more than any test here needs; reached only by a loop that starves its neighbours.
constexpr std::uint64_t rounds_max = 50'000'000;

task<> busy(const std::atomic<bool>& done, std::uint64_t& rounds) {
  while (!done && ++rounds < rounds_max) co_await yield();
}

// Work that posts itself, as hooks and queues do, which yield() does not know about.
struct reposting : coro::runnable {
  reposting(const std::atomic<bool>& d, std::uint64_t& r) : done(d), rounds(r) {
    run = [](coro::runnable& w) noexcept {
      auto& self = static_cast<reposting&>(w);
      if (!self.done && ++self.rounds < rounds_max) loop::current()->post(w);
      else self.ended = true;
    };
  }
  const std::atomic<bool>& done;
  std::uint64_t& rounds;
  bool ended = false;
};

task<> ring(std::atomic<bool>& done, duration after) {
  co_await sleep_for(after);
  done = true;
}

// Rings when the timer is due and the busy tasks have had turns besides their first, however slow the machine
// is.
task<> ring_among(std::atomic<bool>& done, const std::uint64_t& rounds, std::uint64_t tasks, duration after) {
  do co_await sleep_for(after);
  while (rounds <= tasks && rounds < rounds_max);
  done = true;
}

// In virtual time a busy loop stands still: no timer becomes due meanwhile.
TEST_P(kernel_fairness, TasksThatYieldStarveNoTimer) {
  std::atomic<bool> done{false};
  std::uint64_t rounds = 0;
  for (int i = 0; i < 3; ++i) rt().spawn(busy(done, rounds));
  rt().spawn(ring_among(done, rounds, 3, 2ms));
  rt().run();
  EXPECT_LT(rounds, rounds_max);
  EXPECT_GT(rounds, 3u);
}

TEST_P(kernel_fairness, WorkThatPostsItselfStarvesNoTimer) {
  std::atomic<bool> done{false};
  std::uint64_t rounds = 0;
  reposting w(done, rounds);
  rt().at(0).post(w);
  rt().spawn(ring(done, 2ms));
  rt().run();
  EXPECT_LT(rounds, rounds_max);
  while (!w.ended) rt().poll();
}

TEST_P(kernel_fairness, WorkThatPostsItselfStarvesNoIo) {
  struct reading : runtime_internal::operation {
    reading(int fd, std::atomic<bool>& d) : done(d) {
      type = kind::poll_in;
      on = fd;
      complete = [](runtime_internal::operation& op, std::int64_t) noexcept {
        static_cast<reading&>(op).done = true;
      };
    }
    std::atomic<bool>& done;
  };
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<bool> done{false};
  std::uint64_t rounds = 0;
  reposting w(done, rounds);
  reading r(ends[0], done);
  rt().poll();
  rt().at(0).io().submit(r);
  rt().at(0).post(w);
  std::thread writer([&] { EXPECT_EQ(::write(ends[1], "x", 1), 1); });
  while (!w.ended) rt().poll();
  writer.join();
  EXPECT_LT(rounds, rounds_max);
  ::close(ends[1]);
  rt().at(0).io().close(ends[0]);
}

TEST_P(kernel_fairness, TasksThatYieldStarveNoMail) {
  std::atomic<bool> done{false};
  std::uint64_t rounds = 0;
  auto wake = [](std::atomic<bool>& d) -> task<> {
    d = true;
    co_return;
  };
  rt().spawn(busy(done, rounds));
  std::thread other([&] { rt().spawn(wake(done)); });
  rt().run();
  other.join();
  EXPECT_LT(rounds, rounds_max);
}

// Each work item takes 10 ms: 512 of them would delay a timer by five seconds.
TEST_P(kernel_fairness, LongWorksAreBoundedByTimeAndNotByNumber) {
  struct slow : coro::runnable {
    explicit slow(std::uint64_t& r) : rounds(r) {
      run = [](coro::runnable& w) noexcept {
        ++static_cast<slow&>(w).rounds;
        // sleeps on purpose: a work that takes long
        std::this_thread::sleep_for(10ms);
      };
    }
    std::uint64_t& rounds;
  };
  std::uint64_t rounds = 0;
  std::vector<slow> works(200, slow(rounds));
  std::uint64_t seen = 0;
  struct note : coro::timer {
    std::uint64_t* from = nullptr;
    std::uint64_t* to = nullptr;
  } t;
  t.from = &rounds;
  t.to = &seen;
  t.fire = [](coro::timer& fired) noexcept {
    *static_cast<note&>(fired).to = *static_cast<note&>(fired).from;
  };
  rt().poll();
  rt().at(0).arm(t, rt().now() + 1ms);
  for (slow& w : works) rt().at(0).post(w);
  while (t.holder) rt().poll();
  EXPECT_LE(seen, 64u);
  while (rounds < works.size()) rt().poll();
}

TEST_P(fairness, TasksThatYieldLetEachOtherRun) {
  std::atomic<bool> done{false};
  std::uint64_t rounds = 0;
  auto later = [](std::atomic<bool>& d) -> task<> {
    for (int i = 0; i < 10; ++i) co_await yield();
    d = true;
  };
  rt().spawn(busy(done, rounds));
  rt().spawn(later(done));
  rt().run();
  EXPECT_LE(rounds, 50u);
}

INSTANTIATE_TEST_SUITE_P(Backends, fairness, testing_support::all_kinds,
                         testing_support::every_backend::case_name);
INSTANTIATE_TEST_SUITE_P(Backends, kernel_fairness, testing_support::kernel_kinds,
                         testing_support::every_backend::case_name);

}  // namespace
}  // namespace coracle::loop_fairness_test
