// How busy a server is, as it reports it with calls and out of band (gRFC A51).
#include "support/echo_fixture.hpp"

#include "coracle/client/pick_policy.hpp"
#include "coracle/server/load_reporter.hpp"
#include "coracle/services/orca_service.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::load_report_test {
namespace {

using namespace std::chrono_literals;

class loaded_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (request.text() == "busy")
      context.load().set_cpu_utilization(0.5).set_cost("rows", 3).set_cost("rows", 4);
    if (request.text() == "wrong") context.load().set_cpu_utilization(-1).set_memory_utilization(2);
    if (request.text() == "busy and failed") {
      context.load().set_metric("queue", 7);
      co_return status::unavailable("overloaded");
    }
    co_return request;
  }
};

class loads : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make_server({});
  }
  [[nodiscard]] service& served() noexcept override { return loaded_; }
  void restart(bool trailers = true) {
    server_options options;
    options.load = load_;
    options.load_trailers = trailers;
    make_server(options);
  }
  static task<std::optional<load_report>> ask(echo_stub s, std::string what) {
    const echo::Text request = make_text(std::move(what));
    auto call = s.Say(request);
    const auto reply = co_await call;
    EXPECT_EQ(reply.ok(), request.text() != "busy and failed");
    co_return load_report::of_call(call.trailing_metadata());
  }
  std::optional<load_report> load_of(const std::string& what) { return run(ask(stub(), what)); }
  loaded_service loaded_;
  std::shared_ptr<load_reporter> load_ = std::make_shared<load_reporter>();
};
INSTANTIATE_TEST_SUITE_P(Everywhere, loads, every_world_over_tcp, echo_fixture::case_name);

TEST_P(loads, ACallThatRecordsNothingReportsNothing) {
  EXPECT_EQ(load_of("idle"), std::nullopt);
  EXPECT_EQ(load_of("wrong"), std::nullopt);
}

TEST_P(loads, ACallReportsWhatItsHandlerHasRecordedLast) {
  EXPECT_EQ(load_of("busy"), load_report().set_cpu_utilization(0.5).set_cost("rows", 4));
}

TEST_P(loads, ACallThatFailsReportsItsLoadToo) {
  EXPECT_EQ(load_of("busy and failed"), load_report().set_metric("queue", 7));
}

TEST_P(loads, ValuesOfTheServerFillWhatTheCallHasNotRecorded) {
  load_->update([](load_report& r) { r.set_cpu_utilization(0.25).set_qps(100).set_cost("calls", 1); });
  restart();
  EXPECT_EQ(load_of("idle"), load_report().set_cpu_utilization(0.25).set_qps(100).set_cost("calls", 1));
  EXPECT_EQ(load_of("busy"),
            load_report().set_cpu_utilization(0.5).set_qps(100).set_cost("calls", 1).set_cost("rows", 4));
  load_->update([](load_report& r) { r.clear(); });
  EXPECT_EQ(load_of("idle"), std::nullopt);
}

TEST_P(loads, WithoutTrailersCallsReportOnlyTheirOwn) {
  load_->update([](load_report& r) { r.set_cpu_utilization(0.25); });
  restart(false);
  EXPECT_EQ(load_of("idle"), std::nullopt);
  EXPECT_EQ(load_of("busy"), load_report().set_cpu_utilization(0.5).set_cost("rows", 4));
}

TEST_P(loads, CallsAndFailuresPerSecondAreCounted) {
  load_->measure_calls();
  restart();
  struct program {
    static task<> calls(echo_stub s) {
      co_await ask(s, "idle");
      for (int i = 0; i < 4; ++i) co_await ask(s, i == 0 ? "busy and failed" : "idle");
      co_await sleep_for(1s);
    }
  };
  run(program::calls(stub()));
  const auto load = load_of("idle");
  ASSERT_TRUE(load && load->qps() && load->eps());
  EXPECT_GT(*load->qps(), 1.5);  // 5 calls in one second, or a little more
  EXPECT_LE(*load->qps(), 5);
  EXPECT_NEAR(*load->eps(), *load->qps() / 5, 1e-6);
}

// A simulated host has neither CPUs nor memory of its own.
class loads_of_processes : public loads {};
INSTANTIATE_TEST_SUITE_P(Everywhere, loads_of_processes, every_kernel_over_tcp, echo_fixture::case_name);

TEST_P(loads_of_processes, TheProcessMeasuresItsCpuAndMemory) {
  load_->measure_cpu();
  load_->measure_memory();
  const time_point began = rt().at(0).now();
  EXPECT_TRUE(load_->at(began).empty());
  const auto end = std::chrono::steady_clock::now() + 50ms;
  while (std::chrono::steady_clock::now() < end) {
  }
  const load_report load = load_->at(began + 1s);
  ASSERT_TRUE(load.cpu_utilization() && load.memory_utilization());
  EXPECT_GT(*load.cpu_utilization(), 0);
  EXPECT_LT(*load.cpu_utilization(), 2);
  EXPECT_GT(*load.memory_utilization(), 0);
  EXPECT_LE(*load.memory_utilization(), 1);
  load_->update([](load_report& r) { r.set_cpu_utilization(0.125); });
  EXPECT_EQ(load_->at(began + 2s).cpu_utilization(), 0.125);
}

// --- out of band

// Keeps what it is told about the one server.
struct heard {
  std::vector<load_report> loads;
  std::vector<time_point> times;
};
class hearing_policy final : public client::pick_policy {
 public:
  hearing_policy(heard& to, bool of_calls, std::optional<duration> interval) noexcept
      : to_(to), of_calls_(of_calls), interval_(interval) {}
  std::size_t pick(std::span<const client::pick_candidate>, const client::pick_info&) override { return 0; }
  [[nodiscard]] bool wants_load_of_calls() const override { return of_calls_; }
  [[nodiscard]] std::optional<duration> load_interval() const override { return interval_; }
  void load_reported(const client::pick_candidate& server, const load_report& load) override {
    EXPECT_EQ(server.where().address().to_string().substr(0, 10), "127.0.0.1:");
    to_.loads.push_back(load);
    to_.times.push_back(loop::current()->now());
  }

 private:
  heard& to_;
  const bool of_calls_;
  const std::optional<duration> interval_;
};

class reported_loads : public loads {
 protected:
  // A server that may report at any interval.
  void restart_with_service(duration min_interval) {
    channel_.reset();
    orca_.emplace(load_, min_interval);
    server_.emplace(rt());
    server_->add(loaded_);
    server_->add(*orca_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
  }
  void hear(bool of_calls, std::optional<duration> interval) {
    channel_options options;
    options.balance = balancing::by([this, of_calls, interval](std::uint64_t) {
      return std::make_unique<hearing_policy>(heard_, of_calls, interval);
    });
    channel_.emplace(rt(), tcp_address(), insecure(), options);
  }
  static task<> until_heard(heard& all, std::size_t n) {
    while (all.loads.size() < n) co_await sleep_for(1ms);
  }
  std::optional<orca_service> orca_;
  heard heard_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, reported_loads, every_world_over_tcp, echo_fixture::case_name);

TEST_P(reported_loads, APolicyHearsTheLoadOfCalls) {
  hear(true, std::nullopt);
  load_of("idle");
  load_of("busy");
  load_of("busy and failed");
  ASSERT_EQ(heard_.loads.size(), 2u);
  EXPECT_EQ(heard_.loads[0], load_report().set_cpu_utilization(0.5).set_cost("rows", 4));
  EXPECT_EQ(heard_.loads[1], load_report().set_metric("queue", 7));
}

TEST_P(reported_loads, APolicyHearsTheLoadOfCallsThatMayBeRetried) {
  channel_options options;
  options.balance = balancing::by(
      [this](std::uint64_t) { return std::make_unique<hearing_policy>(heard_, true, std::nullopt); });
  options.service_config =
      service_config::parse(
          R"({"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 2, "initialBackoff": "0.001s",
          "maxBackoff": "0.001s", "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]})")
          .value();
  channel_.emplace(rt(), tcp_address(), insecure(), options);
  load_of("busy");
  load_of("busy and failed");
  EXPECT_EQ(heard_.loads.size(), 3u);  // both attempts of the second call
}

TEST_P(reported_loads, APolicyThatDoesNotAskHearsNothing) {
  restart_with_service(1ms);
  load_->update([](load_report& r) { r.set_qps(1); });
  hear(false, std::nullopt);
  load_of("busy");
  EXPECT_TRUE(heard_.loads.empty());
}

TEST_P(reported_loads, ReportsComeAtOnceAndAtEachIntervalAlsoUnchanged) {
  restart_with_service(1ms);
  load_->update([](load_report& r) { r.set_memory_utilization(0.75).set_utilization("disk", 1); });
  hear(false, 10ms);
  load_of("idle");  // connects
  const load_report told = load_->at(time_point());
  run(until_heard(heard_, 3));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(heard_.loads[i], told);
  load_->update([](load_report& r) { r.set_memory_utilization(0.25); });
  const std::size_t before = heard_.loads.size();
  run(until_heard(heard_, before + 2));
  EXPECT_EQ(heard_.loads.back().memory_utilization(), 0.25);
}

TEST_P(reported_loads, TheMinimumIntervalOfTheServerCounts) {
  restart_with_service(1h);
  load_->update([](load_report& r) { r.set_qps(1); });
  hear(false, 1ms);
  load_of("idle");
  run(until_heard(heard_, 1));
  struct program {
    static task<> wait() { co_await sleep_for(50ms); }
  };
  run(program::wait());
  EXPECT_EQ(heard_.loads.size(), 1u);
}

// Where nothing but time takes time.
class reported_loads_in_simulation : public reported_loads {};
INSTANTIATE_TEST_SUITE_P(Everywhere, reported_loads_in_simulation, simulation_over_tcp,
                         echo_fixture::case_name);

TEST_P(reported_loads_in_simulation, StreamsWakeUpTheLoopTogether) {
  restart_with_service(80ms);
  load_->update([](load_report& r) { r.set_qps(1); });
  heard other;
  hear(false, 100ms);
  load_of("idle");
  run(until_heard(heard_, 1));
  struct program {
    static task<> wait(duration d) { co_await sleep_for(d); }
  };
  run(program::wait(37ms));
  channel_options options;
  options.balance =
      balancing::by([&](std::uint64_t) { return std::make_unique<hearing_policy>(other, false, 200ms); });
  std::optional<channel> second(std::in_place, rt(), tcp_address(), insecure(), options);
  EXPECT_EQ(sync_wait(echo_stub(*second).Say(make_text("idle"))).status(), status());
  run(until_heard(other, 3));
  second.reset();
  // The first report comes at once, the others at times that both streams share.
  const auto gap = [](time_point a, time_point b) { return (a > b ? a - b : b - a) % 10ms; };
  EXPECT_NE(other.times[0], heard_.times[0]);
  for (std::size_t i = 1; i < other.times.size(); ++i) {
    const duration off = gap(other.times[i], heard_.times[1]);
    EXPECT_LT(std::min<duration>(off, 10ms - off), 1ms) << i;
  }
}

TEST_P(reported_loads, AServerWithoutTheServiceIsAskedOnce) {
  hear(false, 1ms);
  EXPECT_EQ(load_of("busy")->cpu_utilization(), 0.5);
  struct program {
    static task<server_snapshot> after_a_while(server& s) {
      co_await sleep_for(2s);  // sleeps on purpose: a second call would come after a backoff of one second
      co_return co_await s.snapshot();
    }
  };
  if (!sim_world()) return;  // two seconds cost nothing there
  const auto snapshot = run(program::after_a_while(*server_));
  EXPECT_EQ(snapshot.calls_started, 1u);  // unregistered methods do not count
  ASSERT_EQ(snapshot.connections.size(), 1u);
  EXPECT_EQ(snapshot.connections[0].streams_started, 2u);
}

TEST_P(reported_loads, AStreamOfReportsDoesNotDelayADrain) {
  restart_with_service(1h);
  load_->update([](load_report& r) { r.set_qps(1); });
  hear(false, 1ms);
  load_of("idle");
  run(until_heard(heard_, 1));
  struct program {
    static task<duration> drain(server& s) {
      const time_point began = coro::this_executor().now();
      co_await s.drain(10s);
      co_return coro::this_executor().now() - began;
    }
  };
  EXPECT_LT(run(program::drain(*server_)), 5s);
}

}  // namespace
}  // namespace coracle::testing_support::load_report_test
