// What limits of concurrency do in simulated time. docs/decisions/0021-a-limit-that-is-measured.md has the
// table.
#include "server/admission/concurrency_limit.hpp"

#include "unit/server/admission/limit_world.hpp"

#include <gtest/gtest.h>

namespace coracle::server_internal::concurrency_limit_test {
namespace {

using namespace std::chrono_literals;

auto exponential(double mean) {
  return [mean](std::mt19937_64& r, double) { return std::exponential_distribution<>(1 / mean)(r); };
}
// 8 % of the calls take 50 times as long as the others.
auto unsteady(double fast) {
  return [fast](std::mt19937_64& r, double) {
    return std::uniform_real_distribution<>(0, 1)(r) < 0.08 ? 50 * fast : fast;
  };
}
auto load_of(double x) {
  return [x](double) { return x; };
}

template <class Limit>
limit_result run(const limit_scenario& s) {
  Limit l;
  return limit_world(s, &l).run();
}

const limit_scenario ten_ms{.work = exponential(0.01), .capacity = 1600, .load = load_of(1)};

TEST(concurrency_limit, WithoutOneAnOverloadedServerAnswersNoCallInTime) {
  limit_scenario s = ten_ms;
  s.load = load_of(3);
  EXPECT_LT(limit_world(s, nullptr).run().goodput, 0.01);
}

TEST(concurrency_limit, AnOverloadedServerDoesWhatItCan) {
  for (const double load : {1.2, 2.0, 3.0, 10.0}) {
    limit_scenario s = ten_ms;
    s.load = load_of(load);
    s.until = 20;
    EXPECT_GT(run<measured_limit>(s).goodput, 0.95) << load;
  }
}

TEST(concurrency_limit, AServerWithinItsCapacityRejectsHardlyAnyCall) {
  for (const double load : {0.1, 0.5, 0.8}) {
    limit_scenario s = ten_ms;
    s.load = load_of(load);
    s.deadline = 1;
    EXPECT_LT(run<measured_limit>(s).rejected, 0.001) << load;
  }
}

TEST(concurrency_limit, MicrosecondMethodsAreServedAtFullRate) {
  limit_scenario s{.workers = 1, .work = exponential(20e-6), .capacity = 50'000, .deadline = 0.02};
  s.load = load_of(3);
  s.measured_from = 3;
  s.until = 8;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.95);
  s.load = load_of(0.5);
  EXPECT_EQ(run<measured_limit>(s).rejected, 0);
}

// The mean of few calls is far below that of all, and whatever takes the lowest for the latency without a
// queue rejects calls of a server that is a third idle.
TEST(concurrency_limit, UnsteadyLatenciesAreNoReasonToReject) {
  limit_scenario s{.workers = 160, .work = unsteady(0.002), .capacity = 160 / 0.00984, .deadline = 0.4};
  s.load = load_of(0.65);
  s.until = 45;
  EXPECT_LT(run<measured_limit>(s).rejected, 0.01);
  EXPECT_GT(run<little_limit>(s).rejected, 0.05) << "why it is measured otherwise";
}

TEST(concurrency_limit, SlowMethodsOfManyCallsAreServedAtFullRate) {
  limit_scenario s{.workers = 100, .work = exponential(0.2), .capacity = 500, .deadline = 1.5};
  s.load = load_of(0.9);
  s.measured_from = 15;
  s.until = 60;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.87);
  s.load = load_of(3);
  EXPECT_GT(run<measured_limit>(s).goodput, 0.95);
}

// A measurement takes as long as some of its calls, and must not be given up before.
TEST(concurrency_limit, CallsOfSecondsAreMeasured) {
  limit_scenario s{.workers = 40, .work = exponential(5), .capacity = 8, .deadline = 60};
  s.load = load_of(1.5);
  s.measured_from = 600;
  s.until = 1800;
  double goodput = 0;
  for (s.seed = 1; s.seed <= 8; ++s.seed) goodput += run<measured_limit>(s).goodput / 8;
  EXPECT_GT(goodput, 0.9);
}

// An average that follows the latency forgets what it was without the queue that the limit permits.
TEST(concurrency_limit, ALastingOverloadDoesNotRaiseIt) {
  limit_scenario s = ten_ms;
  s.load = load_of(1.2);
  s.measured_from = 300;
  s.until = 330;
  const limit_result ours = run<measured_limit>(s);
  EXPECT_GT(ours.goodput, 0.95);
  EXPECT_LT(ours.limit, 50);
  EXPECT_LT(run<gradient_limit>(s).goodput, 0.1) << "why it is measured";
}

limit_scenario twenty_ms() {
  limit_scenario s{.workers = 40, .capacity = 2000, .deadline = 0.2};
  s.work = [](std::mt19937_64&, double) { return 0.02; };
  return s;
}

// To measure with a lower limit would reject calls for nothing.
TEST(concurrency_limit, ALoopThatDoesNotUseItUpRejectsNothing) {
  limit_scenario s = twenty_ms();
  s.load = load_of(0.5);
  s.measured_from = 1;
  s.until = 120;
  EXPECT_EQ(run<measured_limit>(s).rejected, 0);
}

TEST(concurrency_limit, ASmallMinimumIsNoReasonToStay) {
  for (const std::size_t minimum : {1, 2, 5}) {
    concurrency_limit one(minimum, 1'000, 1, 1);
    time_point now(1h);
    for (int i = 0; i < 3'000; ++i) {
      now += 500us;
      one.call_ended(0, now - 20ms, now, true, one.limit());
    }
    EXPECT_GT(one.limit(), 100u) << minimum;
  }
}

// A limit that is twice as high as what was used up makes the beginning of a queue look like half of the
// work.
TEST(concurrency_limit, AQueueThatBeginsIsNotTheUsual) {
  concurrency_limit one(20, 1'000, 1, 1);
  time_point now(1h);
  const auto window = [&](duration latency, std::size_t running) {
    for (int i = 0; i < 200; ++i) {
      now += 500us;
      one.call_ended(0, now - latency, now, true, running);
    }
  };
  window(20ms, 20);
  window(20ms, one.limit());
  window(25ms, one.limit());
  for (int i = 0; i < 10; ++i) window(29ms, 75);
  const std::size_t before = one.limit();
  window(32ms, before);
  EXPECT_LT(one.limit(), before) << "20 ms were the usual";
}

TEST(concurrency_limit, ADependencyThatIsSlowForAWhileIsNotBuried) {
  limit_scenario s = ten_ms;
  s.work = [](std::mt19937_64& r, double at) {
    return std::exponential_distribution<>(at > 10 && at < 30 ? 20.0 : 100.0)(r);
  };
  s.deadline = 0.2;
  s.load = load_of(0.8);
  s.measured_from = 32;
  s.until = 45;
  const limit_result after = run<measured_limit>(s);
  EXPECT_GT(after.goodput, 0.79) << "at once when it is fast again";
  s.measured_from = 12;
  s.until = 30;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.8 * 0.2) << "meanwhile, most of a fifth";
  EXPECT_LT(limit_world(s, nullptr).run().goodput, 0.01);
}

// A limit that has learnt what slow calls take would let fast ones queue as long.
TEST(concurrency_limit, ADependencyThatRecoversUnderOverloadIsNotBuried) {
  for (const double load : {1.2, 3.0}) {
    for (const double deadline : {0.05, 0.2}) {
      limit_scenario s = ten_ms;
      s.work = [](std::mt19937_64& r, double at) {
        return std::exponential_distribution<>(at > 10 && at < 30 ? 5.0 : 100.0)(r);
      };
      s.deadline = deadline;
      s.load = load_of(load);
      s.measured_from = 65;
      s.until = 120;
      const limit_result after = run<measured_limit>(s);
      EXPECT_GT(after.goodput, 0.9) << load << " " << deadline;
      EXPECT_LT(after.limit, 60) << load << " " << deadline;
    }
  }
}

TEST(concurrency_limit, ADependencyThatIsSlowerForGoodIsUsedFully) {
  limit_scenario s{.workers = 100, .capacity = 400, .deadline = 1};
  s.work = [](std::mt19937_64& r, double at) {
    return std::exponential_distribution<>(at < 10 ? 80.0 : 4.0)(r);
  };
  for (const double load : {1.2, 3.0}) {
    s.load = load_of(load);
    s.measured_from = 30;
    s.until = 90;
    EXPECT_GT(run<measured_limit>(s).goodput, 0.85) << load;
    limit_scenario later = s;
    later.measured_from = 1000;
    later.until = 1100;
    double goodput = 0;
    for (later.seed = 1; later.seed <= 4; ++later.seed) {
      const double one = run<measured_limit>(later).goodput;
      EXPECT_GT(one, 0.8) << load << " " << later.seed;
      goodput += one / 4;
    }
    EXPECT_GT(goodput, 0.93) << load << ", and no longer doubted";
  }
}

// The calls take ten times as long for good, without a queue.
TEST(concurrency_limit, ItGrowsToWhatSlowerCallsRequire) {
  limit_scenario s{.workers = 400, .capacity = 8000, .deadline = 0.3};
  s.work = [](std::mt19937_64&, double at) { return at < 10 ? 0.005 : 0.05; };
  s.load = load_of(0.8);
  s.measured_from = 15;
  s.until = 25;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.65) << "while it is doubted";
  s.measured_from = 25;
  s.until = 30;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.78);
}

TEST(concurrency_limit, ItFollowsASurgeWithinASecond) {
  limit_scenario s{
      .workers = 20, .work = exponential(0.002), .fixed = 0.05, .capacity = 10'000, .deadline = 0.3};
  s.load = [](double at) { return at < 10 ? 0.02 : 0.8; };
  s.measured_from = 11;
  s.until = 20;
  EXPECT_GT(run<measured_limit>(s).goodput, 0.75);
}

// Chance makes the mean of few calls long, and the limit has to be there when more come.
TEST(concurrency_limit, AHalfIdleLoopKeepsItForASurge) {
  concurrency_limit one(4, 1'000, 1, 1);
  time_point now(1h);
  const auto window = [&](duration latency, std::size_t running) {
    for (int i = 0; i < 100; ++i) {
      now += 1ms;
      one.call_ended(0, now - latency, now, true, running);
    }
  };
  for (int i = 0; i < 15; ++i) window(2ms, one.limit());
  const std::size_t before = one.limit();
  ASSERT_GT(before, 500u);
  for (int i = 0; i < 100; ++i) window(i % 3 == 0 ? 9ms : 2ms, before / 4);
  EXPECT_GE(one.limit(), before);
}

// Their latency is no sign of a queue, and must not raise what is usual.
TEST(concurrency_limit, CallsThatFailDoNotSetWhatIsUsual) {
  concurrency_limit one(4, 100, 1, 1);
  time_point now(1h);
  const auto window = [&](duration latency, bool ok) {
    for (int i = 0; i < 200; ++i) {
      now += 1ms;
      one.call_ended(0, now - latency, now, ok, one.limit());
    }
  };
  window(500ms, false);
  for (int i = 0; i < 5; ++i) window(1ms, true);
  const std::size_t before = one.limit();
  EXPECT_GT(before, 4u);
  window(50ms, true);
  EXPECT_LT(one.limit(), before) << "a queue, if 1 ms is usual";
}

// The reduced limit of a measurement ends although no call has come.
TEST(concurrency_limit, AMeasurementWithoutCallsEnds) {
  concurrency_limit one(4, 100, 1, 1);
  time_point now(1h);
  std::size_t before = 0;
  for (int i = 0; i < 10'000 && one.limit() >= before; ++i) {
    before = one.limit();
    now += 1ms;
    one.call_ended(0, now - 5ms, now, true, one.limit());
  }
  ASSERT_LT(one.limit(), before) << "it measures";
  now += concurrency_limit::measuring_interval + 1s;
  one.call_ended(0, now - 5ms, now, true, 1);
  EXPECT_EQ(one.limit(), before);
}

TEST(concurrency_limit, DearAndCheapMethodsShareIt) {
  concurrency_limit one(20, 10'000, 2, 1);
  time_point now(1h);
  const auto window = [&](std::uint32_t method, duration latency, int calls, std::size_t running) {
    for (int i = 0; i < calls; ++i) {
      now += 2ms;
      one.call_ended(method, now - latency, now, true, running);
    }
  };
  window(0, 1ms, 1000, 5);
  window(1, 100ms, 1000, 5);
  window(0, 1ms, 1000, 20);
  const std::size_t before = one.limit();
  window(1, 100ms, 1000, 20);  // dear calls alone, which take what they always take
  EXPECT_GE(one.limit(), before);
  window(1, 1s, 1000, 40);
  EXPECT_LT(one.limit(), before);
}

TEST(concurrency_limit, ItStaysWithinItsBounds) {
  concurrency_limit one(4, 8, 1, 1);
  EXPECT_EQ(one.limit(), 4u);
  time_point now(1h);
  for (int i = 0; i < 3'000; ++i) {
    now += 2ms;
    one.call_ended(0, now - 1ms, now, true, one.limit());
  }
  EXPECT_EQ(one.limit(), 8u);
  for (int i = 0; i < 3'000; ++i) {
    now += 2ms;
    one.call_ended(0, now - 5s, now, true, one.limit());
  }
  EXPECT_GE(one.limit(), 4u);
}

TEST(concurrency_limit, NewBoundsHoldAtOnce) {
  concurrency_limit l(20, 100, 1, 1);
  l.set_bounds(50, 100);
  EXPECT_EQ(l.limit(), 50u);
  l.set_bounds(5, 30);
  EXPECT_EQ(l.limit(), 30u);
  l.set_bounds(0, 0);
  EXPECT_EQ(l.limit(), 1u);
}

// What a measurement has set aside does not come back above them.
TEST(concurrency_limit, NewBoundsHoldAfterAMeasurement) {
  concurrency_limit l(10, 1000, 1, 1);
  time_point now(1h);
  const auto run_for = [&](duration time, std::size_t running) {
    for (const time_point end = now + time; now < end; now += 100us)
      l.call_ended(0, now - 10ms, now, true, running);
  };
  run_for(2s, 1000);
  ASSERT_GT(l.limit(), 100u);
  bool measures = false;
  for (std::size_t before = l.limit(); !measures && now < time_point(1h + 120s); before = l.limit()) {
    run_for(10ms, l.limit());
    measures = l.limit() < before;
  }
  ASSERT_TRUE(measures);
  l.set_bounds(10, 50);
  run_for(30s, l.limit());
  EXPECT_LE(l.limit(), 50u);
}

}  // namespace
}  // namespace coracle::server_internal::concurrency_limit_test
