// What server::reload() changes while a server serves.
#include "support/echo_fixture.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/spawn.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::reload_test {
namespace {

using namespace std::chrono_literals;

constexpr double hardly_any = 0.001;  // the next call in 1,000 s

class reloaded : public echo_fixture {
 protected:
  static task<status_code> say(echo_stub s) {
    const echo::Text request = text("x");
    const auto reply = co_await s.Say(request);
    co_return reply.status().code();
  }
  static task<status_code> hang(echo_stub s, call_options options) {
    const echo::Text request = text("hang");
    const auto reply = co_await s.Misbehave(request, options);
    co_return reply.status().code();
  }
  status_code say() { return run(say(stub())); }
  static server_options with_rates(std::vector<rate_limit> all) {
    server_options o;
    o.rate_limits = std::move(all);
    return o;
  }
  static server_options with_calls(std::size_t n) {
    server_options o;
    o.limits.calls = n;
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, reloaded, every_world_over_tcp, echo_fixture::case_name);

class timed_reloads : public reloaded {};
INSTANTIATE_TEST_SUITE_P(Everywhere, timed_reloads, simulation_over_tcp, echo_fixture::case_name);

TEST_P(reloaded, RateLimitsComeAndGo) {
  make_server({});
  EXPECT_EQ(say(), status_code::ok);
  server_->reload(with_rates({rate_limit(hardly_any, 2)}));
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(say(), status_code::resource_exhausted);
  server_->reload(with_rates({rate_limit(hardly_any, 1)}));
  EXPECT_EQ(say(), status_code::ok) << "another limit begins with all its tokens";
  EXPECT_EQ(say(), status_code::resource_exhausted);
  server_->reload({});
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(run(server_->snapshot()).calls_rejected, 2u);
}

TEST_P(reloaded, ARateLimitThatStaysKeepsItsTokens) {
  const rate_limit twice(hardly_any, 2);
  make_server(with_rates({twice, twice}));
  EXPECT_EQ(say(), status_code::ok);
  rate_limit others(hardly_any, 1);
  others.methods = {"/echo.Echo/Repeat"};
  server_->reload(with_rates({others, twice, twice}));
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(say(), status_code::resource_exhausted);
}

TEST_P(reloaded, AnInvalidRateLimitChangesNothing) {
  make_server({});
  server_options wrong = with_rates({rate_limit(0)});
  wrong.limits.calls = 0;
  EXPECT_THROW(server_->reload(wrong), usage_error);
  EXPECT_EQ(say(), status_code::ok);
}

// Calls that began while there was no limit count.
TEST_P(timed_reloads, TheLimitOfCallsCountsThoseThatRun) {
  make_server({});
  const auto program = [](echo_stub s, server& of, echo_service& service) -> task<> {
    spawn([](echo_stub t) -> task<> { (void)co_await hang(t, within(60ms)); }(s));
    while (service.hung == 0) co_await sleep_for(1ms);
    of.reload(with_calls(1));
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::unavailable);
    while (service.stopped == 0) co_await sleep_for(1ms);
    while (co_await say(s) != status_code::ok) co_await sleep_for(1ms);
    of.reload({});
  };
  run(program(stub(), *server_, service_));
  EXPECT_EQ(say(), status_code::ok);
  server_->reload(with_calls(0));
  EXPECT_EQ(say(), status_code::unavailable);
}

TEST_P(timed_reloads, CallsThatHaveBegunKeepTheirDeadline) {
  make_server({});
  const auto program = [](echo_stub s, server& of, echo_service& service) -> task<> {
    spawn([](echo_stub t) -> task<> { (void)co_await hang(t, within(300ms)); }(s));
    while (service.hung == 0) co_await sleep_for(1ms);
    server_options o;
    o.limits.call_time = 20ms;
    of.reload(o);
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await hang(s, {}), status_code::deadline_exceeded);
    EXPECT_EQ(service.stopped, 1) << "only the second call has ended";
    while (service.stopped != 2) co_await sleep_for(1ms);
  };
  run(program(stub(), *server_, service_));
}

TEST_P(timed_reloads, OverloadProtectionIsTurnedOnAndOff) {
  make_server({});
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(run(server_->snapshot()).concurrency_limit, 0u);
  server_options on;
  on.admission = admission_options{.min_concurrency = 1, .max_concurrency = 1};
  server_->reload(on);
  const auto program = [](echo_stub s, server& of, echo_service& service) -> task<> {
    spawn([](echo_stub t) -> task<> { (void)co_await hang(t, within(200ms)); }(s));
    while (service.hung == 0) co_await sleep_for(1ms);
    const server_snapshot now = co_await of.snapshot();
    EXPECT_EQ(now.concurrency_limit, 1u);
    EXPECT_EQ(now.calls_limited, 1u);
    EXPECT_EQ(co_await say(s), status_code::unavailable) << "after 100 ms in the line";
    server_options wider;
    wider.admission = admission_options{.min_concurrency = 2, .max_concurrency = 2};
    of.reload(wider);
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::ok);
    of.reload({});
    while (service.stopped == 0) co_await sleep_for(1ms);
  };
  run(program(stub(), *server_, service_));
  const server_snapshot off = run(server_->snapshot());
  EXPECT_EQ(off.concurrency_limit, 0u);
  EXPECT_EQ(off.calls_rejected, 1u);
  server_->reload(on);
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(run(server_->snapshot()).concurrency_limit, 1u);
}

// A call that waits when the protection is turned off has its turn; others do not wait any more.
TEST_P(timed_reloads, CallsThatWaitAreNotForgotten) {
  server_options on;
  on.admission = admission_options{.min_concurrency = 1, .max_concurrency = 1};
  make_server(on);
  const auto program = [](echo_stub s, server& of, echo_service& service) -> task<> {
    spawn([](echo_stub t) -> task<> { (void)co_await hang(t, within(40ms)); }(s));
    while (service.hung == 0) co_await sleep_for(1ms);
    spawn([](echo_stub t, server& to, echo_service& with) -> task<> {
      for (bool waits = false; !waits;) {
        const server_snapshot now = co_await to.snapshot();
        waits = now.calls_waiting != 0;
        co_await sleep_for(1ms);
      }
      to.reload({});
      co_await sleep_for(1ms);
      EXPECT_EQ(co_await say(t), status_code::ok);
      EXPECT_EQ(with.stopped, 0) << "it has not waited";
      const server_snapshot now = co_await to.snapshot();
      EXPECT_EQ(now.calls_waiting, 1u);
      EXPECT_EQ(now.concurrency_limit, 0u);
    }(s, of, service));
    EXPECT_EQ(co_await say(s), status_code::ok);
    EXPECT_EQ(service.stopped, 1) << "it has waited for the other one";
  };
  run(program(stub(), *server_, service_));
}

TEST_P(reloaded, ConnectionsAreLimitedFromThenOn) {
  make_server({});
  EXPECT_EQ(say(), status_code::ok);
  server_options few;
  few.limits.connections = 1;
  server_->reload(few);
  {
    channel second(rt(), address_, insecure());
    EXPECT_EQ(run(say(echo_stub(second))), status_code::unavailable);
    EXPECT_EQ(say(), status_code::ok) << "the connection before";
  }
  server_->reload({});
  channel third(rt(), address_, insecure());
  EXPECT_EQ(run(say(echo_stub(third))), status_code::ok);
}

TEST_P(reloaded, BeforeTheFirstConnectionItReplacesTheOptions) {
  channel_.reset();
  server_.emplace(rt(), with_calls(0));
  server_->reload(with_rates({rate_limit(hardly_any, 1)}));
  server_->add(service_);
  link();
  EXPECT_EQ(say(), status_code::ok);
  EXPECT_EQ(say(), status_code::resource_exhausted);
}

// With a limit that was turned off and on, the calls that run are counted once.
TEST_P(timed_reloads, TheLimitOfCallsIsTurnedOffAndOnWhileACallRuns) {
  make_server(with_calls(1));
  const auto program = [](echo_stub s, server& of, echo_service& service) -> task<> {
    spawn([](echo_stub t) -> task<> { (void)co_await hang(t, within(300ms)); }(s));
    while (service.hung == 0) co_await sleep_for(1ms);
    of.reload({});
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::ok);
    of.reload(with_calls(2));
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::ok);
    of.reload(with_calls(1));
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::unavailable);
    while (service.stopped == 0) co_await sleep_for(1ms);
    co_await sleep_for(1ms);
    EXPECT_EQ(co_await say(s), status_code::ok);
  };
  run(program(stub(), *server_, service_));
}

TEST_P(reloaded, AfterTheDrainNothingHappens) {
  make_server({});
  EXPECT_EQ(say(), status_code::ok);
  channel_.reset();
  run(server_->drain(1s));
  server_->reload(with_rates({rate_limit(hardly_any, 1)}));
  server_->reload(with_calls(1));
}

}  // namespace
}  // namespace coracle::testing_support::reload_test
