// A channel that refuses calls by itself while its server refuses them (channel_options::throttling).
#include "support/echo_fixture.hpp"

#include "coracle/client/service_config.hpp"
#include "coracle/coro/sleep.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace coracle::testing_support::throttling_test {
namespace {

using namespace std::chrono_literals;

// Refuses all calls, or lets them wait, while it is told so.
class moody_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    ++calls;
    if (hangs) co_await sleep_for(1h);
    if (const auto code = static_cast<status_code>(refuses_with); code != status_code::ok)
      co_return status(code, "not now");
    static_cast<void>(context);
    co_return request;
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text&) override {
    ++calls;
    context.send_initial_metadata();
    co_await sleep_for(1h);
    co_return status();
  }
  int calls = 0;
  int refuses_with = 0;
  bool hangs = false;
};

class throttled_channel : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return service_; }
  void SetUp() override {
    echo_fixture::SetUp();
    if (IsSkipped()) return;
    throttle({});
  }
  void throttle(channel_options options) {
    options.throttling = true;
    channel_.emplace(rt(), address_, insecure(), options);
  }
  // The codes of n calls in a row, of which those that the channel refused have their own count.
  struct outcome {
    int ok = 0;
    int refused_here = 0;
    int failed = 0;
  };
  task<outcome> ask(int n, call_options with = {}) {
    outcome all;
    for (int i = 0; i < n; ++i) {
      const echo::Text request = text("a");
      const auto reply = co_await stub().Say(request, with);
      if (reply.ok()) ++all.ok;
      else if (reply.status().code() == status_code::resource_exhausted &&
               reply.status().message().find("channel_options::throttling") != std::string_view::npos)
        ++all.refused_here;
      else ++all.failed;
    }
    co_return all;
  }

  // Streams that time out after their headers have arrived.
  task<> open_streams(int n) {
    for (int i = 0; i < n; ++i) {
      const echo::Text request = text("a");
      auto stream = stub().Repeat(request, within(10ms));
      echo::Text one;
      EXPECT_FALSE(more(co_await stream.read(one)));
      EXPECT_EQ((co_await stream.finish()).code(), status_code::deadline_exceeded);
    }
  }

  moody_service service_;
};

TEST_P(throttled_channel, RefusesNothingWhileItsServerAcceptsCalls) {
  const outcome all = run(ask(200));
  EXPECT_EQ(all.ok, 200);
  for (const status_code code : {status_code::not_found, status_code::internal, status_code::cancelled}) {
    service_.refuses_with = static_cast<int>(code);
    EXPECT_EQ(run(ask(100)).failed, 100) << "errors that a server that works has";
  }
}

TEST_P(throttled_channel, SparesAServerThatRefuses) {
  service_.refuses_with = static_cast<int>(status_code::unavailable);
  const outcome all = run(ask(1000));
  EXPECT_EQ(all.ok, 0);
  EXPECT_EQ(all.failed, service_.calls);
  EXPECT_LT(service_.calls, 200);
  EXPECT_EQ(all.failed + all.refused_here, 1000);
}

TEST_P(throttled_channel, CountsEachAttemptOfACall) {
  channel_options options;
  options.service_config = service_config::parse(R"({"methodConfig": [{"name": [{}], "retryPolicy": {
    "maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
    "retryableStatusCodes": ["UNAVAILABLE"]}}]})")
                               .value();
  throttle(options);
  service_.refuses_with = static_cast<int>(status_code::unavailable);
  const outcome all = run(ask(20));
  EXPECT_EQ(all.failed * 5, service_.calls);
  EXPECT_GT(all.refused_here, 0) << "20 calls that count once are refused less often";
}

TEST_P(throttled_channel, DoesNotCountWhatTheClientEnds) {
  channel_options options;
  options.calls.max_send_bytes = 100;
  throttle(options);
  const auto too_large = [](echo_stub s) -> task<int> {
    int refused = 0;
    for (int i = 0; i < 100; ++i) {
      const echo::Text request = text(std::string(1000, 'x'));
      const auto reply = co_await s.Say(request);
      refused += reply.status().code() == status_code::resource_exhausted;
    }
    co_return refused;
  };
  EXPECT_EQ(run(too_large(stub())), 100);
  EXPECT_EQ(run(ask(100)).ok, 100);
}

TEST_P(throttled_channel, DoesNotCountCallsWithoutAConnection) {
  server_.reset();
  const outcome all = run(ask(100));
  EXPECT_EQ(all.failed, 100) << "each says why there is no connection";
}

INSTANTIATE_TEST_SUITE_P(OverTcp, throttled_channel, every_world_over_tcp, echo_fixture::case_name);

class throttled_for_a_while : public throttled_channel {};

TEST_P(throttled_for_a_while, SendsAllCallsAgainOnceTheServerRecovers) {
  service_.refuses_with = static_cast<int>(status_code::resource_exhausted);
  EXPECT_GT(run(ask(1000)).refused_here, 800);
  service_.refuses_with = 0;
  run([]() -> task<> { co_await sleep_for(6s); }());
  const outcome all = run(ask(100));
  EXPECT_EQ(all.ok, 100);
}

TEST_P(throttled_for_a_while, CountsCallsThatTimeOut) {
  service_.hangs = true;
  const outcome all = run(ask(100, within(10ms)));
  EXPECT_EQ(all.failed, service_.calls);
  EXPECT_GT(all.refused_here, 20);
}

// What a server has begun to answer, it has accepted, whenever it ends.
TEST_P(throttled_for_a_while, CountsStreamsWhenTheirHeadersArrive) {
  run(open_streams(100));
  EXPECT_EQ(run(ask(100)).ok, 100);
}

INSTANTIATE_TEST_SUITE_P(Simulated, throttled_for_a_while, simulation_over_tcp, echo_fixture::case_name);

}  // namespace
}  // namespace coracle::testing_support::throttling_test
