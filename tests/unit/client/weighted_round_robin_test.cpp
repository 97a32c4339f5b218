// weighted_round_robin: its schedule by itself, and the policy over scripted servers, in virtual time.
#include "client/balancing/weighted_round_robin.hpp"
#include "coracle/rpc/load_report.hpp"
#include "unit/client/balancer_fixture.hpp"

#include <map>

namespace coracle::client::test::weighted_round_robin_test {
namespace {

std::vector<int> turns(const std::vector<double>& weights, int n, std::uint32_t sequence = 0) {
  stride_schedule s;
  s.set(weights);
  std::vector<int> picked(weights.size());
  for (int i = 0; i < n; ++i) ++picked[s.next(sequence)];
  return picked;
}

TEST(StrideSchedule, PicksInProportionToTheWeights) {
  for (const std::uint32_t begin : {0u, 12345u, 0xffff0000u}) {
    const std::vector<int> picked = turns({1, 2, 5, 0.5}, 85'000, begin);
    EXPECT_NEAR(picked[0], 10'000, 100);
    EXPECT_NEAR(picked[1], 20'000, 200);
    EXPECT_NEAR(picked[2], 50'000, 500);
    EXPECT_NEAR(picked[3], 5'000, 50);
  }
}

TEST(StrideSchedule, IsSmooth) {
  stride_schedule s;
  s.set({3, 1});
  std::uint32_t sequence = 0;
  int in_a_row = 0;
  for (int i = 0; i < 10'000; ++i) {
    in_a_row = s.next(sequence) == 0 ? in_a_row + 1 : 0;
    EXPECT_LE(in_a_row, 4);
  }
}

TEST(StrideSchedule, CountsUnknownWeightsAsTheMean) {
  const std::vector<int> picked = turns({2, 4, 0}, 9'000);
  EXPECT_NEAR(picked[0], 2'000, 50);
  EXPECT_NEAR(picked[1], 4'000, 50);
  EXPECT_NEAR(picked[2], 3'000, 50);
}

TEST(StrideSchedule, IsRoundRobinWithFewerThanTwoWeights) {
  for (const std::vector<double>& weights : {std::vector<double>{0, 0, 0}, {0, 7, 0}}) {
    stride_schedule s;
    EXPECT_TRUE(s.set(weights));
    std::uint32_t sequence = 0;
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(s.next(sequence), i % 3);
  }
}

TEST(StrideSchedule, NeverStarvesTheLightest) { EXPECT_GT(turns({1e9, 1}, 2 * 65'535 * 2)[1], 0); }

// --- slow start

class slow : public balancer_fixture {
 protected:
  // The share of calls of server 2, in percent.
  static int share_of_second(recording_host& h) {
    int picked = 0;
    held_call c;
    for (int i = 0; i < 20'000; ++i) picked += h.policy->choose(pick_info(c)).to->where().address() == at(2);
    return (picked + 100) / 200;
  }
  // A second server comes an hour after the first one.
  static task<> add_second(recording_host& h) {
    h.net->serve(1);
    h.net->serve(2);
    h.update(servers({1}));
    co_await sleep_for(1h);
    h.update(servers({1, 2}));
    co_await sleep_for(10ms);
  }
};

TEST_F(slow, AServerThatIsNewGetsMoreAndMoreCalls) {
  run(balancing::round_robin(slow_start_options{.window = 100s}), [](recording_host& h) -> task<> {
    co_await add_second(h);
    EXPECT_NEAR(share_of_second(h), 9, 1);  // 10 of 110
    co_await sleep_for(50s);
    EXPECT_NEAR(share_of_second(h), 33, 2);  // 50 of 150
    co_await sleep_for(51s);
    EXPECT_EQ(share_of_second(h), 50);
  });
}

TEST_F(slow, TheAggressionBendsTheCurve) {
  run(balancing::round_robin({.window = 100s, .aggression = 2, .min_weight_percent = 0}),
      [](recording_host& h) -> task<> {
        co_await add_second(h);
        EXPECT_NEAR(share_of_second(h), 9, 1);  // the root of 1 of 100, which is 10 of 110
        co_await sleep_for(25s);
        EXPECT_NEAR(share_of_second(h), 33, 2);  // half
      });
}

TEST_F(slow, AServerThatComesBackBeginsAnew) {
  run(balancing::round_robin(slow_start_options{.window = 100s}), [](recording_host& h) -> task<> {
    co_await add_second(h);
    co_await sleep_for(200s);
    for (scripted_server* s : h.net->of(2)) s->die();
    co_await sleep_for(5s);
    EXPECT_LT(share_of_second(h), 15);
  });
}

TEST_F(slow, ReducesTheWeightsOfLoads) {
  weighted_round_robin_options o;
  o.slow_start = slow_start_options{.window = 100s};
  run(balancing::weighted_round_robin(o), [](recording_host& h) -> task<> {
    co_await add_second(h);
    EXPECT_NEAR(share_of_second(h), 9, 1);
    co_await sleep_for(102s);
    EXPECT_EQ(share_of_second(h), 50);
  });
}

class wrr : public balancer_fixture {
 protected:
  static void start(recording_host& h, std::initializer_list<int> list) {
    for (int n : list) h.net->serve(n);
    h.update(servers(list));
  }
  // The share of calls that each server gets, in percent.
  static std::map<net::address, int> shares(recording_host& h) {
    std::map<net::address, int> by;
    held_call c;
    for (int i = 0; i < 10'000; ++i) ++by[h.policy->choose(pick_info(c)).to->where().address()];
    for (auto& [at, n] : by) n = (n + 50) / 100;
    return by;
  }
  static void report(recording_host& h, int server, const load_report& load) {
    metadata trailing;
    trailing.add("endpoint-load-metrics-bin", load.serialize());
    for (const auto& s : h.alive)
      if (s->where().address() == at(server))
        s->target_of_attempt({}).ends->attempt_ended(status_code::ok, trailing);
  }
};

TEST_F(wrr, FollowsTheLoadOnceTheBlackoutIsOver) {
  run(balancing::weighted_round_robin(), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    for (int second = 0; second < 12; ++second) {
      // 100 and 300 calls a second at the same utilization.
      report(h, 1, load_report().set_cpu_utilization(0.5).set_qps(100));
      report(h, 2, load_report().set_cpu_utilization(0.5).set_qps(300));
      if (second == 8) {
        EXPECT_EQ(shares(h)[at(1)], 50);
      }
      co_await sleep_for(1s);
    }
    EXPECT_NEAR(shares(h)[at(1)], 25, 1);
    EXPECT_NEAR(shares(h)[at(2)], 75, 1);
  });
}

TEST_F(wrr, ForgetsWeightsThatAreNotRenewed) {
  run(balancing::weighted_round_robin({.blackout_period = 0s, .weight_expiration_period = 5s}),
      [](recording_host& h) -> task<> {
        start(h, {1, 2});
        co_await sleep_for(100ms);
        report(h, 1, load_report().set_application_utilization(0.1).set_qps(100));
        report(h, 2, load_report().set_application_utilization(0.9).set_qps(100));
        co_await sleep_for(2s);
        EXPECT_NEAR(shares(h)[at(1)], 90, 1);
        co_await sleep_for(10s);
        EXPECT_EQ(shares(h)[at(1)], 50);
      });
}

TEST_F(wrr, CountsErrorsAsUtilization) {
  run(balancing::weighted_round_robin({.blackout_period = 0s, .error_utilization_penalty = 2}),
      [](recording_host& h) -> task<> {
        start(h, {1, 2});
        co_await sleep_for(100ms);
        report(h, 1, load_report().set_cpu_utilization(0.2).set_qps(100).set_eps(10));  // 0.2 + 0.1 * 2
        report(h, 2, load_report().set_cpu_utilization(0.2).set_qps(100));
        co_await sleep_for(2s);
        EXPECT_NEAR(shares(h)[at(1)], 33, 1);
      });
}

TEST_F(wrr, TakesTheLargestOfTheNamedMetrics) {
  weighted_round_robin_options o;
  o.blackout_period = 0s;
  o.metric_names_for_computing_utilization = {"named_metrics.queue.length", "utilization.disk",
                                              "mem_utilization"};
  run(balancing::weighted_round_robin(o), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3, 4});
    co_await sleep_for(100ms);
    const load_report base = load_report().set_cpu_utilization(0.9).set_qps(100);
    report(h, 1, load_report(base).set_metric("queue.length", 0.1));
    report(h, 2, load_report(base).set_utilization("disk", 0.2).set_metric("queue.length", 0.1));
    report(h, 3, load_report(base).set_memory_utilization(0.4).set_metric("queue.length", -1));
    report(h, 4, load_report(load_report().set_cpu_utilization(0.8).set_qps(100)));
    co_await sleep_for(2s);
    auto by = shares(h);  // as 8 : 4 : 2 : 1
    EXPECT_NEAR(by[at(1)], 53, 1);
    EXPECT_NEAR(by[at(2)], 27, 1);
    EXPECT_NEAR(by[at(3)], 13, 1);
    EXPECT_NEAR(by[at(4)], 7, 1);
  });
}

TEST_F(wrr, IgnoresReportsThatGiveNoWeight) {
  run(balancing::weighted_round_robin({.blackout_period = 0s}), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    report(h, 1, load_report().set_cpu_utilization(0.1).set_qps(100));
    report(h, 2, load_report().set_cpu_utilization(0.3).set_qps(100));
    report(h, 2, load_report().set_cpu_utilization(0).set_qps(100));
    report(h, 2, load_report().set_cpu_utilization(0.3));
    co_await sleep_for(2s);
    EXPECT_NEAR(shares(h)[at(1)], 75, 1);
  });
}

TEST_F(wrr, StartsAgainWithAServerThatWasLost) {
  run(balancing::weighted_round_robin({.blackout_period = 5s}), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(100ms);
    for (int second = 0; second < 7; ++second) {
      report(h, 1, load_report().set_cpu_utilization(0.1).set_qps(100));
      report(h, 2, load_report().set_cpu_utilization(0.9).set_qps(100));
      co_await sleep_for(1s);
    }
    EXPECT_NEAR(shares(h)[at(1)], 90, 1);
    for (scripted_server* s : h.net->of(2)) s->die();
    co_await sleep_for(2s);
    EXPECT_EQ(shares(h)[at(1)], 50);  // READY again, without a weight
  });
}

}  // namespace
}  // namespace coracle::client::test::weighted_round_robin_test
