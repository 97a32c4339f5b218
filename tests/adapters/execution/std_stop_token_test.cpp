#include "coracle/execution/std_stop_token.hpp"

#include "support/every_backend.hpp"

#include "coracle/runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

namespace coracle::testing_support::std_stop_token_test {
namespace {

using namespace std::chrono_literals;

class std_stop_tokens : public every_backend {};

task<int> seven_in(duration d) {
  co_await sleep_for(d);
  co_return 7;
}

TEST_P(std_stop_tokens, ATokenStopsAWait) {
  auto body = []() -> task<> {
    std::stop_source stop;
    std::jthread stopper([&] { stop.request_stop(); });
    const result<int> ended = co_await with_stop_token(stop.get_token(), seven_in(24h));
    EXPECT_EQ(ended.status().code(), status_code::cancelled);
    // It has fired already.
    const result<int> at_once = co_await with_stop_token(stop.get_token(), seven_in(24h));
    EXPECT_EQ(at_once.status().code(), status_code::cancelled);
  };
  if (sim_world()) return;  // a thread cannot wake it
  run(body());
}

TEST_P(std_stop_tokens, AWaitThatEndsFirstKeepsItsResult) {
  auto body = []() -> task<> {
    std::stop_source stop;
    const result<int> value = co_await with_stop_token(stop.get_token(), seven_in(1ms));
    EXPECT_EQ(value.value(), 7);
    const result<int> without = co_await with_stop_token(std::stop_token(), seven_in(1ms));
    EXPECT_EQ(without.value(), 7);
    auto fail = []() -> task<> {
      co_await sleep_for(0ms);
      throw std::runtime_error("no");
    };
    EXPECT_THROW((void)co_await with_stop_token(stop.get_token(), fail()), std::runtime_error);
    stop.request_stop();  // nothing is registered any more
  };
  run(body());
}

TEST_P(std_stop_tokens, AStopMeetsTheEndOfItsWait) {
  if (sim_world()) return;  // a thread cannot wake it
  auto body = []() -> task<> {
    for (int i = 0; i < 200; ++i) {
      std::stop_source stop;
      std::jthread stopper([&] { stop.request_stop(); });
      const result<int> ended = co_await with_stop_token(stop.get_token(), seven_in(0ms));
      EXPECT_TRUE(ended.ok() || ended.status().code() == status_code::cancelled);
    }
  };
  run(body());
}

TEST_P(std_stop_tokens, AStopOfTheTaskIsAStdStop) {
  auto body = [](std::stop_token& out, int& calls) -> task<> {
    const coro::environment& here = co_await coro::this_environment();
    const std_stop_source mine(here.stop);
    out = mine.token();
    const std::stop_callback counts(out, [&] { ++calls; });
    EXPECT_FALSE(out.stop_requested());
    try {
      co_await sleep_for(24h);
    } catch (const coro::cancelled&) {
      EXPECT_TRUE(out.stop_requested());
      const std_stop_source late(here.stop);
      EXPECT_TRUE(late.token().stop_requested());
      throw;
    }
  };
  std::stop_token out;
  int calls = 0;
  auto limited = [](task<> waits) -> task<> {
    with_timeout briefly(1ms, std::move(waits));
    const status ended = co_await briefly;
    EXPECT_EQ(ended.code(), status_code::deadline_exceeded);
  };
  run(limited(body(out, calls)));
  EXPECT_TRUE(out.stop_requested());
  EXPECT_EQ(calls, 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, std_stop_tokens, all_kinds, every_backend::case_name);

}  // namespace
}  // namespace coracle::testing_support::std_stop_token_test
