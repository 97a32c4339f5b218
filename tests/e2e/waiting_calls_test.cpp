// Calls that wait for a stream of their channel: the most critical ones leave first.
#include "support/echo_fixture.hpp"

#include "coracle/client/channel_options.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <vector>

namespace coracle::testing_support::waiting_calls_test {
namespace {

using namespace std::chrono_literals;

// Takes 10 ms for each call, and knows the order of all.
class ordered_service final : public echo_service {
 public:
  std::vector<std::string> seen;
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    seen.push_back(request.text());
    co_await sleep_for(10ms);
    co_return request;
  }
};

class waiting_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return ordered_; }
  // One call at a time.
  void dial() {
    channel_options one;
    one.streams_per_connection = 1;
    channel_.emplace(rt(), address_, insecure(), one);
  }
  static task<> say(echo_stub s, std::string text, call_options options) {
    const echo::Text request = make_text(std::move(text));
    const auto reply = co_await s.Say(request, options);
    EXPECT_TRUE(reply.ok()) << reply.status();
  }
  static call_options at(criticality c) {
    call_options o;
    o.criticality = c;
    return o;
  }
  ordered_service ordered_;
};
INSTANTIATE_TEST_SUITE_P(Simulated, waiting_calls, simulation_over_tcp, echo_fixture::case_name);

TEST_P(waiting_calls, TheMostCriticalLeaveFirst) {
  dial();
  const auto program = [](echo_stub s) -> task<> {
    scope all{co_await coro::this_environment()};
    all.spawn(say(s, "running", {}));
    co_await sleep_for(1ms);
    all.spawn(say(s, "batch", at(criticality::sheddable)));
    all.spawn(say(s, "later", at(criticality::sheddable_plus)));
    all.spawn(say(s, "user", {}));
    all.spawn(say(s, "second user", at(criticality::critical)));
    call_options header;
    header.add_metadata("x-request-criticality", "CRITICAL_PLUS");
    all.spawn(say(s, "payment", header));
    co_await all.join();
  };
  run(program(stub()));
  EXPECT_THAT(ordered_.seen,
              ::testing::ElementsAre("running", "payment", "user", "second user", "later", "batch"));
}

// Also those that wait for a connection, and those that wait again because there is no stream for them.
TEST_P(waiting_calls, TheMostCriticalLeaveFirstWhenTheChannelHasConnected) {
  dial();
  const auto program = [](echo_stub s) -> task<> {
    scope all{co_await coro::this_environment()};
    all.spawn(say(s, "batch", at(criticality::sheddable)));
    all.spawn(say(s, "batch, too", at(criticality::sheddable)));
    all.spawn(say(s, "user", {}));
    all.spawn(say(s, "payment", at(criticality::critical_plus)));
    co_await all.join();
  };
  run(program(stub()));
  EXPECT_THAT(ordered_.seen, ::testing::ElementsAre("payment", "user", "batch", "batch, too"));
}

TEST_P(waiting_calls, OnesThatEndWhileTheyWaitLeaveNoTrace) {
  dial();
  const auto program = [](echo_stub s) -> task<> {
    scope all{co_await coro::this_environment()};
    all.spawn(say(s, "running", {}));
    co_await sleep_for(1ms);
    call_options short_of_time = at(criticality::critical_plus);
    short_of_time.timeout = 2ms;
    const echo::Text request = make_text("too late");
    const auto reply = co_await s.Say(request, short_of_time);
    EXPECT_EQ(reply.status().code(), status_code::deadline_exceeded);
    all.spawn(say(s, "user", {}));
    co_await all.join();
    co_await say(s, "last", at(criticality::sheddable));
  };
  run(program(stub()));
  EXPECT_THAT(ordered_.seen, ::testing::ElementsAre("running", "user", "last"));
}

}  // namespace
}  // namespace coracle::testing_support::waiting_calls_test
