// accept() while the process has no descriptors left: it pauses, logs that once, and continues.
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "runtime/backend.hpp"
#include "support/every_backend.hpp"
#include "support/kept_log.hpp"
#include "support/limited_process.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace coracle::net::listening_socket_exhaustion_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::kept_log;

void expect_said_once(const kept_log& log) {
  const std::string output = log.text();
  constexpr std::string_view text = "cannot accept connections on ";
  EXPECT_THAT(output, HasSubstr(text));
  EXPECT_THAT(output, HasSubstr("retrying every 50 ms: Too many open files"));
  EXPECT_EQ(output.find(text), output.rfind(text)) << output;
}

task<> accept_into(listener& l, std::optional<status>& outcome) {
  const result<stream> s = co_await l.accept();
  outcome = s.status();
}

// ---- The kernel's limit.

class AcceptWithoutDescriptors : public testing::TestWithParam<testing_support::world_kind> {
 protected:
  void SetUp() override {
    const bool epoll = GetParam() == testing_support::world_kind::epoll;
    const auto asked = epoll ? backend_choice::epoll : backend_choice::io_uring;
    try {
      rt_.emplace(runtime_options{.backend = testing_support::or_what_is_left(asked), .log = &log_});
    } catch (const status_error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  kept_log log_;
  std::optional<runtime> rt_;
};
INSTANTIATE_TEST_SUITE_P(On, AcceptWithoutDescriptors, testing_support::kernel_kinds,
                         testing_support::every_backend::case_name);

// Until accept() has failed for lack of descriptors.
task<> until_said(const kept_log& log) {
  while (log.text().find("cannot accept") == std::string::npos) co_await sleep_for(1ms);
}

task<> accept_later(const kept_log& log) {
  listener l = listener::open(address::loopback_v4(0)).value();
  const result<stream> first = co_await stream::connect(l.local_address());
  const result<stream> second = co_await stream::connect(l.local_address());
  scope work;
  std::optional<status> outcome;
  {
    const testing_support::descriptor_limit none(0);
    work.spawn(accept_into(l, outcome));
    co_await until_said(log);
    co_await sleep_for(3 *
                       // sleeps on purpose: it tries in vain more than once
                       runtime_internal::accept_pause_time);
    EXPECT_FALSE(outcome);
  }
  co_await work.join();
  EXPECT_EQ(*outcome, status());
  co_await accept_into(l, outcome);
  EXPECT_EQ(*outcome, status());
  co_await l.close();
}

TEST_P(AcceptWithoutDescriptors, RestsUntilThereAreSomeAndSaysSoOnce) {
  sync_wait(*rt_, accept_later(log_));
  expect_said_once(log_);
}

task<> end_early(const kept_log& log) {
  listener l = listener::open(address::loopback_v4(0)).value();
  const result<stream> waits = co_await stream::connect(l.local_address());
  const testing_support::descriptor_limit none(0);
  const result<stream> late = co_await with_timeout(2 * runtime_internal::accept_pause_time, l.accept());
  EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
  co_await until_said(log);
  scope stopped;
  std::optional<status> outcome;
  stopped.spawn(accept_into(l, outcome));
  stopped.request_stop();
  co_await stopped.join();
  EXPECT_EQ(outcome->code(), status_code::cancelled);
  scope closed;
  closed.spawn(accept_into(l, outcome));
  co_await l.close();
  co_await closed.join();
  EXPECT_EQ(*outcome, status::cancelled("the listener was closed"));
}

TEST_P(AcceptWithoutDescriptors, AStopADeadlineAndCloseEndIt) { sync_wait(*rt_, end_early(log_)); }

// ---- A simulated host without any, to the very moment.

class AcceptOnAnExhaustedHost : public testing::Test {
 protected:
  kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  runtime& host_ = world_.host("host");
};

// With a pending connection, and from then on without descriptors.
task<listener> open_and_exhaust(sim::world& w) {
  listener l = listener::open(address::loopback_v4(0)).value();
  result<stream> waits = co_await stream::connect(l.local_address());
  EXPECT_EQ(waits.status(), status());
  w.set_faults(sim::faults().no_descriptors(1));
  co_return l;
}

task<> accept_when_mended(sim::world& w) {
  listener l = co_await open_and_exhaust(w);
  const time_point began = w.now();
  scope work;
  std::optional<status> outcome;
  work.spawn(accept_into(l, outcome));
  co_await sleep_for(1010ms);  // sleeps on purpose: virtual time
  EXPECT_FALSE(outcome);
  w.set_faults({});
  co_await work.join();
  EXPECT_EQ(*outcome, status());
  EXPECT_EQ(w.now() - began, 1050ms);
  co_await l.close();
}

TEST_F(AcceptOnAnExhaustedHost, TriesAgainEvery50Milliseconds) {
  sync_wait(host_, accept_when_mended(world_));
  expect_said_once(log_);
}

task<> stop_in_a_rest(sim::world& w) {
  listener l = co_await open_and_exhaust(w);
  const time_point began = w.now();
  scope work;
  std::optional<status> outcome;
  work.spawn(accept_into(l, outcome));
  co_await sleep_for(120ms);  // sleeps on purpose: virtual time
  work.request_stop();
  EXPECT_FALSE(outcome) << "nobody is resumed on the stack of who asks for a stop";
  co_await work.join();
  EXPECT_EQ(outcome->code(), status_code::cancelled);
  EXPECT_EQ(w.now() - began, 120ms);
  co_await l.close();
}

TEST_F(AcceptOnAnExhaustedHost, AStopEndsARestAtOnce) { sync_wait(host_, stop_in_a_rest(world_)); }

task<> late_in_a_rest(sim::world& w) {
  listener l = co_await open_and_exhaust(w);
  const time_point began = w.now();
  const result<stream> late = co_await with_timeout(130ms, l.accept());
  EXPECT_EQ(late.status().code(), status_code::deadline_exceeded) << late.status();
  EXPECT_EQ(w.now() - began, 130ms);
  co_await l.close();
}

TEST_F(AcceptOnAnExhaustedHost, ADeadlineEndsARestOnTheDot) { sync_wait(host_, late_in_a_rest(world_)); }

task<> close_in_a_rest(sim::world& w) {
  listener l = co_await open_and_exhaust(w);
  const time_point began = w.now();
  scope work;
  std::optional<status> outcome;
  work.spawn(accept_into(l, outcome));
  co_await sleep_for(30ms);  // sleeps on purpose: virtual time
  co_await l.close();
  co_await work.join();
  EXPECT_EQ(*outcome, status::cancelled("the listener was closed"));
  EXPECT_EQ(w.now() - began, 30ms);
}

TEST_F(AcceptOnAnExhaustedHost, ClosingTheListenerEndsARest) { sync_wait(host_, close_in_a_rest(world_)); }

}  // namespace
}  // namespace coracle::net::listening_socket_exhaustion_test
