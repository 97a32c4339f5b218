// Root tasks: any number, spawned from any thread, and what happens to their errors.
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/runtime/runtime.hpp"

#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace coracle::runtime_root_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;

class roots : public testing::TestWithParam<std::tuple<world_kind, std::size_t>> {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  runtime& rt() { return *world_.get(); }
  bool simulated() const { return std::get<0>(GetParam()) == world_kind::sim; }
  any_world world_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

task<> count(std::atomic<int>& n) {
  n.fetch_add(1, std::memory_order_relaxed);
  co_return;
}
task<> spawn_many(runtime& rt, std::atomic<int>& n, int times) {
  for (int i = 0; i < times; ++i) rt.spawn(count(n));
  co_return;
}
task<> fail(const char* reason) {
  co_await yield();
  throw std::runtime_error(reason);
}
task<> until_stopped() { co_await sleep_for(24h); }
task<> leak_a_cancel() {
  co_await yield();
  throw coro::cancelled();
}

// Half of them from inside, half from plain threads; none waits for another.
TEST_P(roots, AMillionFromInsideAndOutsideAllRun) {
  const int all = coro::frame_pool::from_heap() ? 40'000 : 1'000'000;  // sanitizers take twenty times as long
  std::atomic<int> n{0};
  for (int i = 0; i < all / 10; ++i) rt().spawn(count(n));  // before the run
  rt().spawn(spawn_many(rt(), n, all / 10 * 2));
  rt().spawn(spawn_many(rt(), n, all / 10 * 3));
  if (simulated()) {
    rt().spawn(spawn_many(rt(), n, all / 10 * 4));
    rt().run();
  } else {
    auto guard = rt().keep_running();
    std::atomic<int> busy{4};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < all / 10; ++i) rt().spawn(count(n));
        if (--busy == 0) guard.release();
      });
    rt().run();
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(n, all);
}

TEST_P(roots, OneWithAHandlerFailsAlone) {
  std::vector<std::string> seen;
  std::atomic<int> n{0};
  auto note = [&](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      seen.push_back(e.what());
    }
  };
  rt().spawn_on(rt().at(0), fail("first"), note);
  rt().spawn_on(rt().at(0), fail("second"), note);
  rt().run();
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second"}));
  EXPECT_FALSE(rt().stopping());
  rt().spawn(count(n), note);
  rt().run();
  EXPECT_EQ(n, 1);
  EXPECT_EQ(seen.size(), 2u);
}

TEST_P(roots, TheEndOfAStoppedOneIsNoError) {
  std::atomic<int> errors{0};
  rt().spawn(until_stopped(), [&](std::exception_ptr) { ++errors; });
  rt().stop();
  rt().run();
  EXPECT_EQ(errors, 0);
}

TEST_P(roots, ACancelThatNobodyAskedForIsAnError) {
  std::atomic<int> errors{0};
  rt().spawn(leak_a_cancel(), [&](std::exception_ptr) { ++errors; });
  rt().run();
  EXPECT_EQ(errors, 1);
  EXPECT_FALSE(rt().stopping());
}

TEST_P(roots, WhatAHandlerThrowsEscapes) {
  rt().spawn(fail("broken"), [](std::exception_ptr error) { std::rethrow_exception(error); });
  EXPECT_THROW(rt().run(), std::runtime_error);
  EXPECT_TRUE(rt().stopping());
}

INSTANTIATE_TEST_SUITE_P(Backends, roots,
                         testing::Combine(testing_support::all_kinds, testing::Values(1u, 3u)),
                         [](const auto& p) {
                           return testing_support::name_of(std::get<0>(p.param)) +
                                  std::to_string(std::get<1>(p.param));
                         });

}  // namespace
}  // namespace coracle::runtime_root_test
