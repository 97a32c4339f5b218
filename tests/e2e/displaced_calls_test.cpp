// Calls that lose their place because more calls wait than channel_options::max_waiting_calls permits.
#include "support/echo_fixture.hpp"

#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::displaced_calls_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Answers a call when the test says so, and knows the order of all.
class held_service final : public echo_service {
 public:
  std::vector<std::string> seen;
  void answer() {
    answer_.set();
    answer_.reset();
  }
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    seen.push_back(request.text());
    co_await answer_;
    co_return request;
  }

 private:
  event<> answer_;
};

// Knows its servers when the test says so.
class late_resolver final : public client::resolver {
 public:
  explicit late_resolver(client::resolution found) : found_(std::move(found)) {}
  void publish() { known_.set(); }
  task<> run(const client::target&, client::resolution_sink& to) override {
    co_await known_;
    to.publish(found_);
    co_await to.wait_until_requested();
  }

 private:
  const client::resolution found_;
  event<> known_;
};

using endings = std::map<std::string, status_code>;

class displaced_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return held_; }
  // One call at a time, and this many that wait.
  static channel_options with(std::uint32_t maximum) {
    channel_options o;
    o.streams_per_connection = 1;
    o.max_waiting_calls = maximum;
    return o;
  }
  void dial(const channel_options& o) { channel_.emplace(rt(), address_, insecure(), o); }
  static task<> say(echo_stub s, std::string name, call_options options, endings& ended) {
    const echo::Text request = make_text(name);
    const auto reply = co_await s.Say(request, options);
    ended[name] = reply.ok() ? status_code::ok : reply.status().code();
    if (reply.status().code() == status_code::resource_exhausted) {
      EXPECT_THAT(std::string(reply.status().message()),
                  ::testing::HasSubstr("channel_options::max_waiting_calls"));
    }
  }
  static call_options at(criticality c) {
    call_options o;
    o.criticality = c;
    return o;
  }
  static call_options waits_for_ready(criticality c = criticality::critical) {
    call_options o = at(c);
    o.wait_for_ready = true;
    return o;
  }
  // Runs `program` with the fixture and a scope for calls, and waits for their ends.
  template <class Self, class Program>
  void play(Self& self, Program program) {
    run([](Self& fixture, Program what) -> task<> {
      scope all{co_await coro::this_environment()};
      co_await what(fixture, all);
      co_await all.join();
    }(self, program));
  }
  // The call begins, and what follows from it has happened.
  task<> begin(scope& in, std::string name, call_options options = {}) {
    in.spawn(say(stub(), std::move(name), std::move(options), ended_));
    co_await sleep_for(1ms);
  }
  task<> answer(int n) {
    for (int i = 0; i < n; ++i) {
      held_.answer();
      co_await sleep_for(2ms);
    }
  }

  held_service held_;
  std::optional<server> next_server_;  // at the same address
  endings ended_;
};
INSTANTIATE_TEST_SUITE_P(Simulated, displaced_calls, simulation_over_tcp, echo_fixture::case_name);

TEST_P(displaced_calls, AreTheOldestOfTheLeastCritical) {
  dial(with(3));
  play(*this, [](auto& t, scope& all) -> task<> {
    co_await t.begin(all, "running");
    co_await t.begin(all, "batch 1", at(criticality::sheddable));
    co_await t.begin(all, "batch 2", at(criticality::sheddable));
    co_await t.begin(all, "user 1");
    EXPECT_THAT(t.ended_, IsEmpty());
    co_await t.begin(all, "user 2");
    EXPECT_THAT(t.ended_, ElementsAre(Pair("batch 1", status_code::resource_exhausted)));
    co_await t.begin(all, "user 3");
    EXPECT_EQ(t.ended_.count("batch 2"), 1u);
    co_await t.begin(all, "payment", at(criticality::critical_plus));
    EXPECT_EQ(t.ended_.count("user 1"), 1u);
    co_await t.begin(all, "batch 3", at(criticality::sheddable));
    EXPECT_EQ(t.ended_.count("batch 3"), 1u) << "the others are more critical";
    EXPECT_EQ(t.ended_.size(), 4u);
    co_await t.answer(4);
  });
  EXPECT_THAT(held_.seen, ElementsAre("running", "payment", "user 2", "user 3"));
  EXPECT_EQ(std::ranges::count(ended_, status_code::ok, &endings::value_type::second), 4);
}

TEST_P(displaced_calls, LeaveTheirPlaceWhenTheyEndByThemselves) {
  dial(with(2));
  play(*this, [](auto& t, scope& all) -> task<> {
    co_await t.begin(all, "running");
    call_options short_of_time;
    short_of_time.timeout = 10ms;
    co_await t.begin(all, "late 1", short_of_time);
    co_await t.begin(all, "late 2", short_of_time);
    co_await sleep_for(20ms);
    co_await t.begin(all, "user 1");
    {
      scope cancelled{co_await coro::this_environment()};
      co_await t.begin(cancelled, "cancelled");
      cancelled.request_stop();
      co_await cancelled.join();
    }
    co_await t.begin(all, "user 2");
    EXPECT_THAT(t.ended_, ElementsAre(Pair("cancelled", status_code::cancelled),
                                      Pair("late 1", status_code::deadline_exceeded),
                                      Pair("late 2", status_code::deadline_exceeded)));
    co_await t.begin(all, "user 3");
    EXPECT_EQ(t.ended_["user 1"], status_code::resource_exhausted);
    co_await t.answer(3);
  });
  EXPECT_THAT(held_.seen, ElementsAre("running", "user 2", "user 3"));
}

// The line is that of all queues of a loop: calls wait for the resolver's result, then for a connection, and
// then for a stream.
TEST_P(displaced_calls, CountWhateverTheyWaitFor) {
  client::resolution found;
  found.add(*net::address::parse(address_));
  const auto resolver = std::make_shared<late_resolver>(found);
  channel_options o = with(3);
  o.resolver = resolver;
  channel_.emplace(rt(), "any", insecure(), o);
  run([](auto& t, late_resolver& servers) -> task<> {
    scope all{co_await coro::this_environment()};
    co_await t.begin(all, "batch", at(criticality::sheddable));
    co_await t.begin(all, "user 1", waits_for_ready());
    co_await t.begin(all, "user 2");
    EXPECT_THAT(t.ended_, IsEmpty());
    co_await t.begin(all, "user 3");
    EXPECT_THAT(t.ended_, ElementsAre(Pair("batch", status_code::resource_exhausted)));
    servers.publish();
    co_await sleep_for(1s);
    EXPECT_THAT(t.held_.seen, ElementsAre("user 1"));
    co_await t.begin(all, "user 4");
    EXPECT_EQ(t.ended_.size(), 1u) << "one has a stream: " << t.ended_.rbegin()->first;
    co_await t.begin(all, "user 5");
    EXPECT_EQ(t.ended_["user 2"], status_code::resource_exhausted);
    co_await t.answer(4);
    co_await all.join();
  }(*this, *resolver));
  EXPECT_THAT(held_.seen, ElementsAre("user 1", "user 3", "user 4", "user 5"));
}

// A connection that is lost sends them from one queue to another.
TEST_P(displaced_calls, AreNotThoseThatWaitForAnotherConnection) {
  dial(with(3));
  play(*this, [](auto& t, scope& all) -> task<> {
    co_await t.begin(all, "running");
    for (const char* name : {"user 1", "user 2", "user 3"}) co_await t.begin(all, name, waits_for_ready());
    co_await t.server_->drain(0s);
    co_await sleep_for(1s);
    EXPECT_THAT(t.ended_, ElementsAre(Pair("running", status_code::unavailable)));
    co_await t.begin(all, "user 4", waits_for_ready());
    EXPECT_EQ(t.ended_["user 1"], status_code::resource_exhausted) << "the oldest one still";
    t.next_server_.emplace(t.rt());
    t.next_server_->add(t.served());
    EXPECT_EQ(t.next_server_->listen(t.address_, insecure()), status());
    co_await sleep_for(10s);
    EXPECT_EQ(t.ended_.size(), 2u);
    co_await t.begin(all, "user 5");
    EXPECT_EQ(t.ended_.size(), 2u) << "one has a stream again";
    co_await t.answer(4);
  });
  EXPECT_THAT(held_.seen, ElementsAre("running", "user 2", "user 3", "user 4", "user 5"));
}

TEST_P(displaced_calls, AreThoseThatWouldWaitIfNoneMay) {
  dial(with(0));
  play(*this, [](auto& t, scope& all) -> task<> {
    co_await t.begin(all, "first");
    EXPECT_EQ(t.ended_["first"], status_code::resource_exhausted);
    co_await sleep_for(1s);
    EXPECT_EQ(t.channel_->state(), connectivity::ready) << "the call has made the channel connect";
    co_await t.begin(all, "second");
    co_await t.begin(all, "third");
    EXPECT_EQ(t.ended_["third"], status_code::resource_exhausted);
    co_await t.answer(1);
    EXPECT_EQ(t.ended_["second"], status_code::ok);
  });
}

TEST_P(displaced_calls, AreNotRetried) {
  channel_options o = with(1);
  o.service_config = service_config::parse(R"({"methodConfig": [{"name": [{}], "retryPolicy": {
    "maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
    "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]})")
                         .value();
  dial(o);
  play(*this, [](auto& t, scope& all) -> task<> {
    for (const char* name : {"running", "user 1", "user 2"}) co_await t.begin(all, name);
    EXPECT_THAT(t.ended_, ElementsAre(Pair("user 1", status_code::resource_exhausted)));
    co_await sleep_for(100ms);
    co_await t.answer(2);
  });
  EXPECT_THAT(held_.seen, ElementsAre("running", "user 2"));
}

// The attempt that has a stream goes on, and no further hedge begins.
TEST_P(displaced_calls, AreNotThoseOfWhichAnotherAttemptIsInFlight) {
  channel_options o = with(1);
  o.service_config = service_config::parse(R"({"methodConfig": [{"name": [{}], "hedgingPolicy": {
    "maxAttempts": 3, "hedgingDelay": "0.05s"}}]})")
                         .value();
  dial(o);
  play(*this, [](auto& t, scope& all) -> task<> {
    co_await t.begin(all, "hedged");
    co_await sleep_for(60ms);
    co_await t.begin(all, "user", at(criticality::critical));
    co_await sleep_for(30ms);
    EXPECT_THAT(t.ended_, IsEmpty());
    co_await t.answer(2);
  });
  EXPECT_THAT(held_.seen, ElementsAre("hedged", "user"));
  EXPECT_THAT(ended_, UnorderedElementsAre(Pair("hedged", status_code::ok), Pair("user", status_code::ok)));
}

TEST_P(displaced_calls, AreMeasured) {
  telemetry measured(rt(), {});
  dial(with(1));
  play(*this, [](auto& t, scope& all) -> task<> {
    for (const char* name : {"running", "user 1", "user 2", "user 3"}) co_await t.begin(all, name);
    co_await t.answer(2);
  });
  const metrics_snapshot now = run(measured.metrics());
  const metric_family* const displaced = now.find("coracle.client.calls_displaced");
  ASSERT_TRUE(displaced && displaced->points.size() == 1);
  EXPECT_EQ(displaced->points[0].value, 2);
  channel_.reset();
}

// --- whatever happens

// One call at a time has the stream, and the others wait, up to a maximum.
class model {
 public:
  explicit model(std::size_t maximum) : max_(maximum) {}
  endings ended;

  void begin(std::string name, criticality level, int deadline) {
    waiting_.push_back({std::move(name), level, deadline});
    if (serve() || waiting_.size() <= max_) return;
    const auto least = std::ranges::min_element(waiting_, {}, &call::level);
    ended[least->name] = status_code::resource_exhausted;
    waiting_.erase(least);
  }
  void answer() {
    if (running_) ended[running_->name] = status_code::ok;
    running_.reset();
    serve();
  }
  void pass_time(int now) {
    std::erase_if(waiting_, [&](const call& c) { return late(c, now); });
    if (running_ && late(*running_, now)) running_.reset();
    serve();
  }
  [[nodiscard]] bool idle() const { return !running_; }

 private:
  struct call {
    std::string name;
    criticality level;
    int deadline;
  };
  bool late(const call& c, int now) {
    if (c.deadline > now) return false;
    ended[c.name] = status_code::deadline_exceeded;
    return true;
  }
  // Whether a call has got the stream.
  bool serve() {
    if (running_ || waiting_.empty()) return false;
    const auto most = std::ranges::max_element(waiting_, {}, &call::level);
    running_ = *most;
    waiting_.erase(most);
    return true;
  }
  const std::size_t max_;
  std::optional<call> running_;
  std::vector<call> waiting_;  // in order of arrival
};

class displaced_calls_of_a_model : public displaced_calls {
 protected:
  // Times are in steps of 10 ms, and deadlines are between two of them.
  task<> compare(std::uint64_t seed, std::size_t maximum) {
    std::mt19937_64 random(seed);
    model expected(maximum);
    scope all{co_await coro::this_environment()};
    co_await begin(all, "0");
    co_await sleep_for(100ms);  // until it has a connection
    expected.begin("0", criticality::critical, 1'000);
    for (int step = 1; (step < 200 || !expected.idle()) && !HasFailure(); ++step) {
      const std::uint64_t what = step < 200 ? random() % 4 : 3;
      if (what == 3) {
        held_.answer();
        expected.answer();
      } else {
        const auto level = static_cast<criticality>(random() % 4);
        const int patience = 1 + static_cast<int>(random() % 30);
        call_options o = at(level);
        o.timeout = patience * 10ms - 5ms;
        co_await begin(all, std::to_string(step), o);
        expected.begin(std::to_string(step), level, step + patience);
      }
      co_await sleep_for(what == 3 ? 10ms : 9ms);
      expected.pass_time(step + 1);
      EXPECT_EQ(ended_, expected.ended) << "step " << step;
    }
    all.request_stop();  // only if it has failed are there any
    co_await all.join();
  }
};
INSTANTIATE_TEST_SUITE_P(Simulated, displaced_calls_of_a_model, simulation_over_tcp, echo_fixture::case_name);

TEST_P(displaced_calls_of_a_model, AreThoseThatTheModelDisplaces) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::size_t maximum = 1 + seed % 6;
    ended_.clear();
    dial(with(static_cast<std::uint32_t>(maximum)));
    run(compare(seed, maximum));
    EXPECT_GT(std::ranges::count(ended_, status_code::resource_exhausted, &endings::value_type::second), 0);
  }
}

}  // namespace
}  // namespace coracle::testing_support::displaced_calls_test
