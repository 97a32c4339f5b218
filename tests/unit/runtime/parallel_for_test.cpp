#include "coracle/runtime/parallel_for.hpp"

#include "support/every_backend.hpp"

#include "coracle/coro/sleep.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::parallel_for_test {
namespace {

using namespace std::chrono_literals;

class parallel_for_test : public testing_support::every_backend {};

TEST_P(parallel_for_test, CallsForEachIndexOnce) {
  for (const std::size_t n : {0u, 1u, 2u, 255u, 256u, 257u, 5000u}) {
    std::vector<std::atomic<int>> calls(n);
    auto body = [](std::vector<std::atomic<int>>& c) -> task<> {
      auto mark = [&](std::size_t i) { ++c[i]; };
      co_await parallel_for(c.size(), mark);
    };
    run(body(calls));
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(calls[i], 1) << i << " of " << n;
  }
}

TEST_P(parallel_for_test, TakesARangeByReferenceAndByValue) {
  std::vector<int> numbers(1000, 1);
  auto body = [](std::vector<int>& v) -> task<int> {
    co_await parallel_for(v, [](int& x) { x *= 3; });
    std::vector<int> own(500, 2);
    std::atomic<int> sum{0};
    auto add = [&](int x) { sum += x; };
    co_await parallel_for(std::move(own), add);
    co_return sum;
  };
  EXPECT_EQ(run(body(numbers)), 1000);
  EXPECT_EQ(numbers, std::vector<int>(1000, 3));
}

TEST_P(parallel_for_test, ReducesInTheOrderOfTheRange) {
  auto body = [](std::size_t n) -> task<std::string> {
    co_return co_await parallel_reduce(
        n, std::string(">"), [](std::size_t i) { return std::string(1, static_cast<char>('a' + i % 26)); },
        std::plus<>());
  };
  EXPECT_EQ(run(body(0)), ">");
  std::string expected = ">";
  for (std::size_t i = 0; i < 1000; ++i) expected += static_cast<char>('a' + i % 26);
  EXPECT_EQ(run(body(1000)), expected);
}

TEST_P(parallel_for_test, FloatingPointComesOutTheSameEachTime) {
  std::vector<double> samples(10'000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = 1.0 / static_cast<double>(i + 1);
  auto body = [](const std::vector<double>& v) -> task<double> {
    co_return co_await parallel_reduce(v, 0.0, [](double x) { return x * x; }, std::plus<>());
  };
  const double first = run(body(samples));
  EXPECT_NEAR(first, 1.6449, 1e-3);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(body(samples)), first);
}

TEST_P(parallel_for_test, TheFirstExceptionOfTheRangeComesOut) {
  auto body = [](std::atomic<int>& calls) -> task<> {
    auto fail = [&](std::size_t i) {
      ++calls;
      if (i >= 300) throw std::runtime_error(std::to_string(i));
    };
    co_await parallel_for(100'000, fail);
  };
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> calls{0};
    try {
      run(body(calls));
      FAIL() << "nothing came out";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "300");
    }
    EXPECT_LT(calls, 100'000) << "the rest is left out";
  }
}

TEST_P(parallel_for_test, ResumesOnItsLoop) {
  auto body = []() -> task<> {
    loop* const owner_loop = loop::current();
    co_await parallel_for(100, [](std::size_t) {});
    EXPECT_EQ(loop::current(), owner_loop);
  };
  run(body());
}

task<> note_cancelled(task<> t, bool& cancelled) {
  try {
    co_await std::move(t);
  } catch (const coro::cancelled&) {
    cancelled = true;
  }
}

TEST_P(parallel_for_test, UnderAStopNoChunkBegins) {
  auto inside = [](std::atomic<int>& calls) -> task<> {
    auto count = [&](std::size_t) { ++calls; };
    co_await parallel_for(1000, count);
  };
  auto body = [](auto in, std::atomic<int>& calls) -> task<bool> {
    bool cancelled = false;
    scope work{co_await coro::this_environment()};
    work.request_stop();
    work.spawn(note_cancelled(in(calls), cancelled));
    co_await work.join();
    co_return cancelled;
  };
  std::atomic<int> calls{0};
  EXPECT_TRUE(run(body(inside, calls)));
  EXPECT_EQ(calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Backends, parallel_for_test, testing_support::all_kinds,
                         testing_support::every_backend::case_name);

class parallel_for_threads_test : public testing_support::every_backend {};

// Each call continues only once the loop has requested a stop, which takes effect between two chunks.
TEST_P(parallel_for_threads_test, AStopActsBetweenChunks) {
  struct shared {
    std::atomic<int> calls{0};
    std::atomic<bool> stopped{false};
  } s;
  auto inside = [](shared& state) -> task<> {
    auto call = [&](std::size_t) {
      ++state.calls;
      state.stopped.wait(false);
    };
    co_await parallel_for(256, call);
  };
  auto body = [](auto in, shared& state) -> task<bool> {
    bool cancelled = false;
    scope work{co_await coro::this_environment()};
    work.spawn(note_cancelled(in(state), cancelled));
    while (state.calls == 0) co_await sleep_for(1ms);
    work.request_stop();
    state.stopped = true;
    state.stopped.notify_all();
    co_await work.join();
    co_return cancelled;
  };
  EXPECT_TRUE(run(body(inside, s)));
  EXPECT_LT(s.calls, 256);
}

TEST_P(parallel_for_threads_test, TheLoopStaysFreeMeanwhile) {
  std::atomic<bool> ticked{false};
  auto ticker = [](std::atomic<bool>& t) -> task<> {
    co_await sleep_for(1ms);
    t = true;
    t.notify_all();
  };
  auto body = [](std::atomic<bool>& t) -> task<> {
    auto wait = [&](std::size_t) { t.wait(false); };
    co_await parallel_for(4, wait);
  };
  rt().spawn_on(rt().at(0), ticker(ticked));
  run(body(ticked));
  EXPECT_TRUE(ticked);
}

INSTANTIATE_TEST_SUITE_P(Backends, parallel_for_threads_test, testing_support::kernel_kinds,
                         testing_support::every_backend::case_name);

}  // namespace
}  // namespace coracle::parallel_for_test
