// outlier_detection: the ledger by itself, and the policy over scripted servers, in virtual time.
#include "client/balancing/outlier_detection.hpp"
#include "client/balancing/outlier_ledger.hpp"
#include "client/balancing/weighted_target.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "unit/client/balancer_fixture.hpp"

#include <map>
#include <vector>

namespace coracle::client::test::outlier_detection_test {
namespace {

class ledger : public testing::Test {
 protected:
  using options = outlier_detection_options;
  // Adds attempts of a server, on this loop.
  void calls(int server, int succeeded, int failed) {
    auto& mine = outcomes_[server];
    if (!mine) mine = ledger_.join(at(server));
    for (int i = 0; i < succeeded; ++i) mine->add(true);
    for (int i = 0; i < failed; ++i) mine->add(false);
  }
  // Ends an interval.
  void sweep(const options& o, std::size_t listed = 0) {
    if (!begun_) ledger_.sweep(o, now_, [] { return 0u; }, found_);
    begun_ = true;
    now_ += o.interval;
    found_.clear();
    ledger_.sweep(o, now_, [this] { return draw_; }, found_, listed);
  }
  void begin(const options& o) {
    ledger_.sweep(o, now_, [] { return 0u; }, found_);
    begun_ = true;
  }
  [[nodiscard]] bool ejected(int server) const { return !ledger_.ejection_of(at(server)).ok(); }
  [[nodiscard]] int ejected_of(int servers) const {
    int n = 0;
    for (int i = 1; i <= servers; ++i) n += ejected(i);
    return n;
  }

  outlier_ledger ledger_;
  std::map<int, std::shared_ptr<attempt_outcomes>> outcomes_;
  time_point now_{1h};
  bool begun_ = false;
  std::uint32_t draw_ = 0;
  std::vector<outlier_ledger::finding> found_;
};

outlier_detection_options by_success_rate(std::uint32_t percent = 100) {
  outlier_detection_options o;
  o.max_ejection_percent = percent;
  o.success_rate_ejection.emplace();
  return o;
}
outlier_detection_options by_failures(std::uint32_t percent = 100) {
  outlier_detection_options o;
  o.max_ejection_percent = percent;
  o.failure_percentage_ejection.emplace();
  return o;
}

TEST_F(ledger, EjectsTheServerWhoseSuccessRateIsFarBelowTheOthers) {
  begin(by_success_rate());
  for (int n = 1; n <= 5; ++n) calls(n, 100, 0);
  calls(6, 50, 50);
  sweep(by_success_rate());
  EXPECT_EQ(ejected_of(6), 1);
  EXPECT_TRUE(ejected(6));
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].method, "success_rate");
  EXPECT_EQ(found_[0].unenforced, "");
  EXPECT_EQ(ledger_.ejection_of(at(6)).message(),
            "the server is ejected for a while: 50 of 100 calls failed");
}

TEST_F(ledger, KeepsServersThatFailAlike) {
  begin(by_success_rate());
  for (int n = 1; n <= 6; ++n) calls(n, 50, 50);
  sweep(by_success_rate());
  EXPECT_EQ(ejected_of(6), 0);
}

TEST_F(ledger, JudgesNoServerWithFewServersOrFewCalls) {
  begin(by_success_rate());
  for (int n = 1; n <= 4; ++n) calls(n, n == 4 ? 0 : 100, n == 4 ? 100 : 0);
  sweep(by_success_rate());
  EXPECT_EQ(ejected_of(4), 0);  // four are fewer than minimum_hosts
  for (int n = 1; n <= 6; ++n) calls(n, n == 6 ? 0 : 100, n == 6 ? 99 : 0);
  sweep(by_success_rate());
  EXPECT_FALSE(ejected(6));  // its calls are fewer than request_volume
}

TEST_F(ledger, EjectsAboveTheThresholdOfFailures) {
  begin(by_failures());
  for (int n = 1; n <= 4; ++n) calls(n, 50, 0);
  calls(5, 15, 85);
  calls(6, 14, 86);
  sweep(by_failures());
  EXPECT_FALSE(ejected(5));  // 85 % is not above 85 %
  EXPECT_TRUE(ejected(6));
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].method, "failure_percentage");
}

TEST_F(ledger, CountsEachIntervalAnew) {
  begin(by_failures());
  for (int n = 1; n <= 6; ++n) calls(n, 0, 30);
  sweep(by_failures());
  for (int n = 1; n <= 6; ++n) calls(n, 0, 30);
  sweep(by_failures());
  EXPECT_EQ(ejected_of(6), 0);  // 60 in two intervals are fewer than 50 in one
}

TEST_F(ledger, AddsUpTheCallsOfAllLoops) {
  begin(by_failures());
  const auto other_loop = ledger_.join(at(6));
  for (int n = 1; n <= 5; ++n) calls(n, 50, 0);
  calls(6, 0, 25);
  for (int i = 0; i < 25; ++i) other_loop->add(false);
  ledger_.leave(other_loop);
  sweep(by_failures());
  EXPECT_TRUE(ejected(6));
}

TEST_F(ledger, EjectsNoMoreThanItsShareButAtLeastOne) {
  begin(by_failures(10));
  for (int n = 1; n <= 6; ++n) calls(n, 0, 50);
  sweep(by_failures(10));
  EXPECT_EQ(ejected_of(6), 1);
  ASSERT_EQ(found_.size(), 2u);
  EXPECT_EQ(found_[1].unenforced, "max_ejection_overflow");
  begin(by_failures(50));
  for (int n = 1; n <= 6; ++n) calls(n, 0, 50);
  sweep(by_failures(50));
  EXPECT_EQ(ejected_of(6), 3);
}

TEST_F(ledger, TheShareIsOfAllServersThatAreListed) {
  begin(by_failures(10));
  for (int n : {1, 2, 3, 4, 5}) calls(n, 0, 100);
  sweep(by_failures(10), 30);
  EXPECT_EQ(ejected_of(5), 3);
}

TEST_F(ledger, EjectsNoServerWithAShareOfZero) {
  begin(by_failures(0));
  for (int n = 1; n <= 6; ++n) calls(n, 0, 50);
  sweep(by_failures(0));
  EXPECT_EQ(ejected_of(6), 0);
}

TEST_F(ledger, EnforcesWithItsProbability) {
  auto o = by_failures();
  o.failure_percentage_ejection->enforcement_percentage = 30;
  begin(o);
  for (int n = 1; n <= 6; ++n) calls(n, 0, 50);
  draw_ = 30;
  sweep(o);
  EXPECT_EQ(ejected_of(6), 0);
  ASSERT_EQ(found_.size(), 6u);
  EXPECT_EQ(found_[0].unenforced, "enforcement_percentage");
  for (int n = 1; n <= 6; ++n) calls(n, 0, 50);
  draw_ = 29;
  sweep(o);
  EXPECT_EQ(ejected_of(6), 6);
}

// The first ejection lasts 30 s, the second one 60 s; each interval without one takes one back.
TEST_F(ledger, EjectsLongerEachTime) {
  const auto o = by_failures();
  begin(o);
  const auto fail = [&] {
    for (int n = 1; n <= 5; ++n) calls(n, 50, 0);
    calls(6, 0, 50);
    sweep(o);
    EXPECT_TRUE(ejected(6));
  };
  const auto seconds_ejected = [&] {
    int n = 0;
    for (; ejected(6) && n < 1000; n += 10) sweep(o);
    return n;
  };
  fail();
  EXPECT_EQ(seconds_ejected(), 40);  // the first sweep after more than 30 s
  fail();
  EXPECT_EQ(seconds_ejected(), 70);
  sweep(o);  // takes one back
  fail();
  EXPECT_EQ(seconds_ejected(), 70);
  for (int i = 0; i < 5; ++i) sweep(o);
  fail();
  EXPECT_EQ(seconds_ejected(), 40);
}

TEST_F(ledger, EjectsNoLongerThanItsMaximum) {
  auto o = by_failures();
  o.max_ejection_time = 50s;
  begin(o);
  for (int round = 0; round < 5; ++round) {
    for (int n = 1; n <= 5; ++n) calls(n, 50, 0);
    calls(6, 0, 50);
    sweep(o);
    ASSERT_TRUE(ejected(6)) << round;
    int n = 0;
    for (; ejected(6); n += 10) sweep(o);
    EXPECT_EQ(n, round == 0 ? 40 : 60) << round;
  }
}

TEST_F(ledger, ForgetsServersThatNoLoopHas) {
  begin(by_failures());
  for (int n = 1; n <= 5; ++n) calls(n, 50, 0);
  calls(6, 0, 50);
  sweep(by_failures());
  ASSERT_TRUE(ejected(6));
  ledger_.leave(outcomes_[6]);
  EXPECT_FALSE(ejected(6));
}

// --- the policy

class outliers : public balancer_fixture {
 protected:
  static balancing detecting(balancing child = balancing::round_robin()) {
    auto o = by_failures(50);
    o.failure_percentage_ejection->minimum_hosts = 3;
    return balancing::outlier_detection(o, std::move(child));
  }
  static void start(recording_host& h, std::initializer_list<int> list) {
    for (int n : list) h.net->serve(n);
    h.update(servers(list));
  }
  // Makes picks, whose calls fail on the servers from `bad` on; returns how many they got.
  static int play_calls(recording_host& h, int bad, int n = 300) {
    held_call c;
    int on_bad = 0;
    for (int i = 0; i < n; ++i) {
      subchannel* const s = h.policy->choose(pick_info(c)).to;
      if (!s) continue;
      const bool is_bad = !(s->where().address() < at(bad));
      on_bad += is_bad;
      if (attempt_end_sink* const ends = s->target_of_attempt({}).ends)
        ends->attempt_ended(is_bad ? status_code::internal : status_code::ok, {});
    }
    return on_bad;
  }
};

TEST_F(outliers, CallsLeaveAServerThatFailsThemAndReturn) {
  run(detecting(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    EXPECT_EQ(play_calls(h, 3), 100);
    co_await sleep_for(10s);
    EXPECT_EQ(play_calls(h, 3), 0);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->of(3).size(), 1u);  // its connection stays
    co_await sleep_for(40s);
    EXPECT_EQ(play_calls(h, 3), 100);
    EXPECT_EQ(h.net->dials(3), 1u);
  });
}

TEST_F(outliers, AnEjectedServerIsConnectedAgainWhenItIsLost) {
  run(detecting(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    play_calls(h, 3);
    co_await sleep_for(10s);
    for (scripted_server* s : h.net->of(3)) s->die();
    co_await sleep_for(5s);
    EXPECT_EQ(play_calls(h, 3), 0);
    EXPECT_EQ(h.net->of(3).size(), 1u);
  });
}

TEST_F(outliers, ConfigurationWithoutAJudgeBringsAllBack) {
  run(detecting(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    play_calls(h, 3);
    co_await sleep_for(10s);
    EXPECT_EQ(play_calls(h, 3), 0);
    h.use(balancing::outlier_detection({}, balancing::round_robin()));
    h.update(servers({1, 2, 3}));
    co_await sleep_for(10ms);
    EXPECT_EQ(play_calls(h, 3), 100);
  });
}

TEST_F(outliers, ServersOfAnotherChildAreEjectedToo) {
  run(detecting(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    play_calls(h, 3);
    co_await sleep_for(10s);
    h.use(detecting(balancing::least_request()));
    h.update(servers({1, 2, 3}));
    co_await sleep_for(100ms);
    EXPECT_EQ(play_calls(h, 3), 0);
  });
}

TEST_F(outliers, AServerThatMovesStaysEjected) {
  static const auto zones = [](std::initializer_list<int> a, std::initializer_list<int> b) {
    const auto list = [](std::initializer_list<int> n) {
      return std::make_shared<const std::vector<endpoint>>(servers(n));
    };
    return detecting(
        balancing(std::make_shared<const weighted_target_config>(std::vector<weighted_target_config::target>{
            {"a", 1, balancing::round_robin(), list(a)}, {"b", 1, balancing::round_robin(), list(b)}})));
  };
  run(zones({3, 1}, {2}), [](recording_host& h) -> task<> {
    start(h, {1, 2, 3});
    co_await sleep_for(100ms);
    EXPECT_GT(play_calls(h, 3), 50);
    co_await sleep_for(10s);
    EXPECT_EQ(play_calls(h, 3), 0);
    h.use(zones({1}, {2, 3}));
    h.update({});
    co_await sleep_for(100ms);
    EXPECT_EQ(h.net->of(3).size(), 1u);
    EXPECT_EQ(play_calls(h, 3), 0);
  });
}

// gRFC A61: calls to all addresses of a server are its own, in whatever order they are listed.
TEST_F(outliers, AServerIsKnownByAllItsAddresses) {
  run(detecting(), [](recording_host& h) -> task<> {
    const auto list = [](int first, int other) {
      std::vector<endpoint> all = servers({1, 2, first});
      all.back().add_address(at(other));
      return all;
    };
    for (int n : {1, 2, 3, 4}) h.net->serve(n);
    h.update(list(3, 4));
    co_await sleep_for(100ms);
    EXPECT_EQ(play_calls(h, 3), 100);
    co_await sleep_for(10s);
    EXPECT_EQ(play_calls(h, 3), 0);
    h.update(list(4, 3));
    co_await sleep_for(100ms);
    EXPECT_EQ(play_calls(h, 4), 0);
  });
}

TEST_F(outliers, PickFirstKeepsItsServer) {
  run(detecting(balancing::pick_first()), [](recording_host& h) -> task<> {
    start(h, {3});
    h.policy->connect();
    co_await sleep_for(100ms);
    EXPECT_EQ(play_calls(h, 3), 300);
    co_await sleep_for(10s);
    EXPECT_EQ(play_calls(h, 3), 300);
  });
}

// --- what it measures (gRFC A91)

// The values of the labels of each point, in the order of their keys.
using series = std::map<std::vector<std::string>, double>;

class measured_outliers : public outliers {
 protected:
  measured_outliers() : metrics_(host_, options()) {}

  // Two of six servers fail all calls, and one of them may be ejected.
  void play(outlier_detection_options o) {
    o.max_ejection_percent = 10;
    run(balancing(std::make_shared<const outlier_detection_config>(o, balancing::round_robin(), "movies")),
        [](recording_host& h) -> task<> {
          start(h, {1, 2, 3, 4, 5, 6});
          co_await sleep_for(100ms);
          EXPECT_EQ(play_calls(h, 5, 600), 200);
          co_await sleep_for(10s);
        });
  }
  series counted(std::string_view name) {
    const metrics_snapshot now = sync_wait(host_, host_.at(0), metrics_.metrics());
    const metric_family* const family = now.find("grpc.lb.outlier_detection." + std::string(name));
    series found;
    if (!family) return found;
    for (const metric_point& p : family->points) {
      std::vector<std::string> values;
      for (const auto& [key, value] : p.labels) values.push_back(value);
      found[values] = p.value;
    }
    return found;
  }

 private:
  static telemetry_options options() {
    telemetry_options o;
    o.enabled = {"grpc.lb.outlier_detection.*"};
    o.optional_labels = {"grpc.lb.backend_service", "grpc.lb.outlier_detection.detection_method",
                         "grpc.lb.outlier_detection.unenforced_reason"};
    return o;
  }
  const telemetry metrics_;
};

TEST_F(measured_outliers, AreCountedByMethodAndByTheReasonWhyTheyStay) {
  outlier_detection_options o = by_failures();
  o.success_rate_ejection.emplace();
  o.success_rate_ejection->stdev_factor = 1000;
  o.success_rate_ejection->enforcement_percentage = 0;
  play(o);
  EXPECT_EQ(counted("ejections_enforced"), (series{{{"target", "movies", "failure_percentage"}, 1}}));
  EXPECT_EQ(counted("ejections_unenforced"),
            (series{{{"target", "movies", "success_rate", "enforcement_percentage"}, 2},
                    {{"target", "movies", "failure_percentage", "max_ejection_overflow"}, 1}}));

  o.success_rate_ejection->enforcement_percentage = 100;
  o.failure_percentage_ejection->enforcement_percentage = 0;
  play(o);
  EXPECT_EQ(counted("ejections_enforced"), (series{{{"target", "movies", "failure_percentage"}, 1},
                                                   {{"target", "movies", "success_rate"}, 1}}));
  EXPECT_EQ(counted("ejections_unenforced"),
            (series{{{"target", "movies", "success_rate", "enforcement_percentage"}, 2},
                    {{"target", "movies", "failure_percentage", "max_ejection_overflow"}, 2},
                    {{"target", "movies", "success_rate", "max_ejection_overflow"}, 1}}));
}

// --- random_subsetting

class subsetting : public balancer_fixture {};

TEST_F(subsetting, ConnectsToAsManyServersAsItsSize) {
  run(balancing::random_subsetting(3, balancing::round_robin()), [](recording_host& h) -> task<> {
    for (int n = 1; n <= 10; ++n) h.net->serve(n);
    h.update(servers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    co_await sleep_for(100ms);
    EXPECT_EQ(h.net->log.size(), 3u);
    // Another list with the same servers and one more replaces at most one of them.
    h.net->serve(11);
    h.update(servers({11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}));
    co_await sleep_for(100ms);
    EXPECT_LE(h.net->log.size(), 4u);
    EXPECT_EQ(h.alive.size(), 3u);
  });
}

// Many channels use all servers about alike.
TEST_F(subsetting, SpreadsChannelsOverAllServers) {
  struct program {
    static task<> play() {
      std::map<net::address, int> used;
      for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        recording_host h(*loop::current());
        h.seed = seed * 0x9E3779B97F4A7C15u;
        for (int n = 1; n <= 10; ++n) h.net->serve(n);
        h.use(balancing::random_subsetting(3, balancing::round_robin()));
        h.update(servers({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
        for (const auto& s : h.alive) ++used[s->where().address()];
        co_await h.end();
      }
      EXPECT_EQ(used.size(), 10u);
      for (const auto& [where, n] : used) {
        EXPECT_GT(n, 80) << where;
        EXPECT_LT(n, 160) << where;
      }
    }
  };
  sync_wait(host_, host_.at(0), program::play());
}

TEST_F(subsetting, TakesAllServersIfThereAreFewer) {
  run(balancing::random_subsetting(3, balancing::round_robin()), [](recording_host& h) -> task<> {
    for (int n : {1, 2}) h.net->serve(n);
    h.update(servers({1, 2}));
    co_await sleep_for(100ms);
    EXPECT_EQ(h.net->log.size(), 2u);
  });
}

}  // namespace
}  // namespace coracle::client::test::outlier_detection_test
