// cancellation_races: races waits against timers repeatedly: the loser loses no message and no turn.
#pragma once

#include "coracle/coro/sleep.hpp"
#include "support/every_backend.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <tuple>

namespace coracle::testing_support {

inline constexpr int races = 10'000;

inline task<> nap(duration d) { co_await sleep_for(d); }

// Lengths of sleeps, so that each side wins some of the races.
class lengths {
 public:
  explicit lengths(unsigned seed, unsigned below_ns = 8'000) : random_(seed), below_ns_(below_ns) {}
  duration draw() { return std::chrono::nanoseconds(below(below_ns_)); }
  bool one_in(unsigned n) { return below(n) == 0; }
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

 private:
  std::minstd_rand random_;
  unsigned below_ns_;
};

// Of the races of one side.
struct score {
  int won = 0;
  int lost = 0;
  std::atomic<bool> done{false};
  [[nodiscard]] int total() const noexcept { return won + lost; }
  void add(const score& other) noexcept {
    won += other.won;
    lost += other.lost;
  }
};

// The world, and whether the two sides run on one loop or on two.
class cancellation_races : public testing::TestWithParam<std::tuple<world_kind, bool>> {
 public:
  static std::string case_name(const testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_two_loops" : "_one_loop");
  }

 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  runtime& rt() { return *world_.get(); }
  loop& here() { return rt().at(0); }
  loop& there() { return rt().at(std::get<1>(GetParam()) ? 1 : 0); }
  // In the simulated world the draws are the same each time.
  void expect_both_happened(const score& s, int total = races) {
    EXPECT_GE(s.total(), total);
    if (std::get<0>(GetParam()) != world_kind::sim) return;
    EXPECT_GT(s.won, total / 100);
    EXPECT_GT(s.lost, total / 100);
  }

 private:
  any_world world_{std::get<0>(GetParam()), 2};
};

inline const auto all_cancellation_races = testing::Combine(all_kinds, testing::Bool());

}  // namespace coracle::testing_support
