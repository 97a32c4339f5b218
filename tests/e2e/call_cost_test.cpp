// What a call costs its server: server_context::cost(), and the trailers that tell it to clients.
#include "support/echo_fixture.hpp"

#include "coracle/coro/when_all.hpp"
#include "coracle/server/server_observer.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::call_cost_test {
namespace {

using namespace std::chrono_literals;

constexpr duration pause = 50ms;
// A timer counts from the beginning of the turn that arms it, so what is measured of a pause is less by what
// ran before in that turn, which may be milliseconds on a busy machine.
constexpr duration most = 25ms;

duration sum_of_times(const call_cost& c) {
  return c.running + c.waiting_for_messages + c.waiting_for_room + c.waiting_for_calls + c.waiting_otherwise;
}

// Keeps the costs of the calls that have ended, in that order.
class kept_costs final : public server_observer {
 public:
  struct ended {
    std::string method;
    std::optional<call_cost> cost;
    duration age{};
  };
  void call_ended(served_call& c, const status&, time_point now) noexcept override {
    calls.push_back({std::string(c.context.method()), c.context.cost(), now - c.began});
  }
  std::vector<ended> calls;
};

class costly_service final : public echo_service {
 public:
  // Keeps the loop for `d`.
  static void spin(duration d) {
    const auto end = std::chrono::steady_clock::now() + d;
    while (std::chrono::steady_clock::now() < end) {
    }
  }
  static task<> child() { co_return; }

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (request.text() == "sleep") co_await sleep_for(pause);
    if (request.text() == "spin") spin(pause);
    if (request.text() == "spin later") {
      co_await sleep_for(pause);
      spin(pause);
    }
    if (request.text() == "frames")
      for (int i = 0; i < 10; ++i) co_await child();
    if (request.text() == "calls") {
      const echo_stub onward(*next);
      const echo::Text sleep = make_text("sleep");
      auto first = onward.Say(sleep);
      auto second = onward.Say(sleep);
      const auto both = co_await when_all(std::move(first), std::move(second));
      static_cast<void>(both);
    }
    costs_in_handler = context.cost();
    co_return request;
  }
  std::optional<call_cost> costs_in_handler;
};

class costs : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    restart(true);
  }
  void restart(bool every_call) {
    server_options options;
    options.observer = observer_;
    options.cost_trailers = every_call;
    make_server(options);
    costly_.next = &*channel_;
  }
  [[nodiscard]] service& served() noexcept override { return costly_; }
  // The costs of the only call.
  call_cost cost_of(const std::string& what) {
    const auto reply = sync_wait(stub().Say(text(what)));
    EXPECT_EQ(reply.status(), status());
    EXPECT_FALSE(observer_->calls.empty() || !observer_->calls.back().cost);
    return observer_->calls.back().cost.value_or(call_cost());
  }
  std::shared_ptr<kept_costs> observer_ = std::make_shared<kept_costs>();
  costly_service costly_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, costs, every_world_over_tcp, echo_fixture::case_name);

// Virtual time stands still while code runs.
class costs_in_real_time : public costs {};
INSTANTIATE_TEST_SUITE_P(Everywhere, costs_in_real_time, every_kernel_over_tcp, echo_fixture::case_name);

TEST_P(costs, TheTimesAddUpToTheAgeOfTheCall) {
  const call_cost c = cost_of("sleep");
  const duration age = observer_->calls.back().age;
  // The age begins with the turn of the loop, and the times begin with the call.
  EXPECT_GE(sum_of_times(c), most);
  if (sim_world()) EXPECT_EQ(sum_of_times(c), age);
  else EXPECT_LT(age - sum_of_times(c), pause);
}

TEST_P(costs, ASleepIsAnotherWait) {
  const call_cost c = cost_of("sleep");
  EXPECT_GE(c.waiting_otherwise, most);
  EXPECT_LT(c.running, pause);
  EXPECT_EQ(c.waiting_for_calls, 0ns);
  EXPECT_EQ(c.waiting_for_room, 0ns);
}

TEST_P(costs_in_real_time, WhatTheHandlerComputesIsRunning) {
  EXPECT_GE(cost_of("spin").running, most);
  const call_cost later = cost_of("spin later");
  EXPECT_GE(later.running, most);
  EXPECT_GE(later.waiting_otherwise, most);
}

TEST_P(costs, OpenCallsOfTheHandlerAreWhatItWaitsFor) {
  const call_cost c = cost_of("calls");
  ASSERT_EQ(observer_->calls.size(), 3u);
  EXPECT_GE(c.waiting_for_calls, most);
  EXPECT_LT(c.waiting_otherwise, pause);
  EXPECT_GE(observer_->calls[0].cost->waiting_otherwise, most);  // of one of the inner calls
}

TEST_P(costs, AMessageThatComesLateIsWaitedFor) {
  struct program {
    static task<> send_slowly(echo_stub s) {
      auto stream = s.Collect();
      const echo::Text one = make_text("one");
      EXPECT_EQ(co_await stream.write(one), status());
      co_await sleep_for(pause);
      EXPECT_EQ(co_await stream.write(one), status());
      co_await sleep_for(pause);
      const auto all = co_await stream.finish();
      EXPECT_TRUE(all.ok() && all->count() == 2);
    }
  };
  run(program::send_slowly(stub()));
  ASSERT_EQ(observer_->calls.size(), 1u);
  const auto c = observer_->calls[0].cost;
  ASSERT_TRUE(c);
  EXPECT_GE(c->waiting_for_messages, most + most);
  EXPECT_LT(c->waiting_otherwise, pause);
  EXPECT_EQ(c->traffic.messages_received, 2u);
}

TEST_P(costs, AClientThatDoesNotReadIsWaitedFor) {
  struct program {
    static task<> read_slowly(echo_stub s) {
      const echo::Text large = make_text(std::string(100'000, 'x'), 100);
      auto stream = s.Repeat(large);
      echo::Text one;
      EXPECT_TRUE(more(co_await stream.read(one)));
      co_await sleep_for(pause);
      int n = 1;
      while (more(co_await stream.read(one))) ++n;
      EXPECT_EQ(n, 100);
    }
  };
  run(program::read_slowly(stub()));
  ASSERT_EQ(observer_->calls.size(), 1u);
  const auto c = observer_->calls[0].cost;
  ASSERT_TRUE(c);
  EXPECT_GE(c->waiting_for_room, pause / 2);  // it begins when the window is full
  EXPECT_GT(c->runs, 10u);
}

TEST_P(costs_in_real_time, WhatAnotherCallComputesIsNotCounted) {
  struct program {
    static task<> two(echo_stub s) {
      const echo::Text sleep = make_text("sleep");
      const echo::Text spin = make_text("spin");
      auto first = s.Say(sleep);
      auto second = s.Say(spin);
      const auto both = co_await when_all(std::move(first), std::move(second));
      static_cast<void>(both);
    }
  };
  run(program::two(stub()));
  ASSERT_EQ(observer_->calls.size(), 2u);
  const auto spinning = observer_->calls[0].cost;
  const auto sleeping = observer_->calls[1].cost;
  ASSERT_TRUE(spinning && sleeping);
  EXPECT_GE(spinning->running, most);
  EXPECT_LT(sleeping->running, pause / 2);
  EXPECT_GE(sleeping->waiting_otherwise, pause / 2);
}

TEST_P(costs, FramesOfTheHandlersTasksAreCounted) {
  const std::uint64_t without = cost_of("").frames;
  EXPECT_EQ(cost_of("frames").frames, without + 10);
  EXPECT_EQ(cost_of("frames").heap_blocks, cost_of("frames").heap_blocks);
}

TEST_P(costs, ASteadyCallTakesNoBlockFromTheHeap) {
  if (coro::frame_pool::from_heap()) GTEST_SKIP() << "this build takes frames from the heap";
  cost_of("frames");
  EXPECT_EQ(cost_of("frames").heap_blocks, 0u);
}

TEST_P(costs, TheHandlerReadsThemWhileTheCallRuns) {
  cost_of("sleep");
  ASSERT_TRUE(costly_.costs_in_handler);
  EXPECT_GE(costly_.costs_in_handler->waiting_otherwise, most);
  EXPECT_GE(costly_.costs_in_handler->runs, 2u);
  EXPECT_LE(sum_of_times(*costly_.costs_in_handler), sum_of_times(*observer_->calls.back().cost));
}

TEST_P(costs, OneCallOf101IsMeasuredAndTheFirst) {
  restart(false);
  for (int i = 0; i < 203; ++i) ASSERT_EQ(sync_wait(stub().Say(text(""))).status(), status());
  ASSERT_EQ(observer_->calls.size(), 203u);
  for (std::size_t i = 0; i < 203; ++i) EXPECT_EQ(observer_->calls[i].cost.has_value(), i % 101 == 0) << i;
}

TEST_P(costs, AClientThatGivesUpEndsThem) {
  const auto reply = sync_wait(stub().Misbehave(text("hang"), within(pause)));
  EXPECT_EQ(reply.status().code(), status_code::deadline_exceeded);
  struct program {
    static task<> until(const std::atomic<int>& stopped) {
      while (stopped == 0) co_await sleep_for(1ms);
    }
  };
  run(program::until(costly_.stopped));
  ASSERT_EQ(observer_->calls.size(), 1u);
  ASSERT_TRUE(observer_->calls[0].cost);
  EXPECT_GE(observer_->calls[0].cost->waiting_otherwise, pause / 2);
}

TEST_P(costs, TrailersTellTheClientTheCosts) {
  struct program {
    static task<std::string> timing(echo_stub s) {
      const echo::Text sleep = make_text("sleep");
      auto call = s.Say(sleep);
      const auto reply = co_await call;
      EXPECT_EQ(reply.status(), status());
      co_return std::string(call.trailing_metadata().find("server-timing").value_or("none"));
    }
  };
  const std::string timing = run(program::timing(stub()));
  EXPECT_EQ(timing.find("running;dur="), 0u) << timing;
  const std::size_t at = timing.find(", other;dur=");
  ASSERT_NE(at, std::string::npos) << timing;
  EXPECT_GE(std::stod(timing.substr(at + 12)), 25) << timing;
  EXPECT_NE(timing.find(", runs;desc=2, "), std::string::npos) << timing;
  EXPECT_NE(timing.find(", received;desc=7, sent;desc="), std::string::npos) << timing;
  restart(false);
  EXPECT_EQ(run(program::timing(stub())), "none");
}

}  // namespace
}  // namespace coracle::testing_support::call_cost_test
