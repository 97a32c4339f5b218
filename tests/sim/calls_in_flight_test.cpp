// Calls whose server fails at each step of their lives: what the table in docs/guides/retries.md promises
// about whether they were executed.
#include "support/echo_service.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::calls_in_flight_test {
namespace {

using namespace std::chrono_literals;

constexpr int replies_of_stream = 3;
constexpr int seeds = 5;

enum class failure : std::uint8_t {
  power_loss,  // the host is silent, and returns without its connections
  crash,  // the same, but it returns at once
  reset,  // the network cuts the connection; both sides learn of it
  end,  // the server object is destroyed: calls are cancelled, connections closed
  drain,  // GOAWAY; calls may end
};
constexpr failure failures[] = {failure::power_loss, failure::crash, failure::reset, failure::end,
                                failure::drain};

// What happened to an attempt, from both sides.
struct attempt_record {
  attempt_kind kind = attempt_kind::first;
  bool attached = false;
  bool ended = false;
  bool headers = false;  // of its response
  status outcome;
  int executions = 0;
};

class records final : public client_observer {
 public:
  void attempt_started(observed_attempt& a) noexcept override {
    a.more.add("x-attempt", std::to_string(all.size()));
    a.user = reinterpret_cast<void*>(all.size());
    all.emplace_back().kind = a.kind;
  }
  void attempt_attached(observed_attempt& a) noexcept override { of(a).attached = true; }
  void headers_received(observed_attempt& a, time_point) noexcept override { of(a).headers = true; }
  void attempt_ended(observed_attempt& a, const status& outcome, time_point) noexcept override {
    of(a).ended = true;
    of(a).outcome = outcome;
  }
  std::vector<attempt_record> all;

 private:
  attempt_record& of(const observed_attempt& a) { return all[reinterpret_cast<std::size_t>(a.user)]; }
};

// Executes slowly, so that each phase of a call has steps.
class counting_service final : public echo_service {
 public:
  explicit counting_service(records& r) : records_(r) {}
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    begin(context);
    co_await sleep_for(2ms);
    co_return request;
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    begin(context);
    for (int i = 0; i < request.count(); ++i) {
      co_await sleep_for(1ms);
      co_yield request;
    }
    co_return status();
  }

 private:
  void begin(const server_context& context) {
    const std::string number(context.metadata().find("x-attempt").value_or("none"));
    ++records_.all.at(std::stoul(number)).executions;
  }
  records& records_;
};

struct serving {
  serving(runtime& on, records& r) : service(r), srv(std::in_place, on) {
    srv->add(service);
    EXPECT_EQ(srv->listen("0.0.0.0:50051", insecure()), status());
  }
  counting_service service;
  std::optional<server> srv;
};

struct call_result {
  bool done = false;
  bool failed_before_its_end = false;  // the server did
  status outcome;
  int replies = 0;
};

task<> unary(const channel& to, call_result& r) {
  const echo_stub stub(to);
  const echo::Text request;
  const call_options limit = within(60s);
  const auto reply = co_await stub.Say(request, limit);
  r.outcome = reply.status();
  r.replies = reply.ok();
  r.done = true;
}

task<> stream(const channel& to, call_result& r) {
  const echo_stub stub(to);
  echo::Text request;
  request.set_count(replies_of_stream);
  auto call = stub.Repeat(request, within(60s));
  while (true) {
    const auto next = co_await call.next();
    r.outcome = next.status();
    if (!next.ok() || !*next) break;
    ++r.replies;
  }
  r.done = true;
}

struct plan {
  bool streams = false;
  bool policy = false;  // that retries UNAVAILABLE
  failure by{};
  std::uint64_t seed = 1;
  [[nodiscard]] std::string text(int step) const {
    return "failure " + std::to_string(static_cast<int>(by)) + " at step " + std::to_string(step) +
           ", seed " + std::to_string(seed) + (streams ? ", stream" : ", unary") + (policy ? ", policy" : "");
  }
};

// One call to two servers, of which the first one fails at one step of the world.
class flight {
 public:
  explicit flight(const plan& p) : plan_(p), world_(p.seed) {
    for (const char* host : {"first", "second"})
      world_.start(host, [this, host](runtime& rt) -> std::shared_ptr<void> {
        auto made = std::make_shared<serving>(rt, *seen);
        if (host == std::string("first")) first_ = made;
        return made;
      });
    sim::name_record names;
    names.address(world_.address_of("first")).address(world_.address_of("second"));
    world_.set_name("both", names);
    channel_options options;
    options.observer = seen;
    options.keepalive = {.time = 10s};
    if (p.policy)
      options.service_config =
          service_config::parse(R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,)"
                                R"("initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,)"
                                R"("retryableStatusCodes":["UNAVAILABLE"]}}]})")
              .value();
    channel_.emplace(client_, "both:50051", insecure(), options);
  }
  // False if the call had ended before.
  bool fail_at(int step) {
    client_.spawn(plan_.streams ? stream(*channel_, result) : unary(*channel_, result));
    int steps = 0;
    world_.run_until([&] { return result.done || steps++ == step; });
    result.failed_before_its_end = !result.done;
    if (result.done) return false;
    fail();
    EXPECT_TRUE(world_.run_until([&] { return result.done; }, 10min)) << plan_.text(step);
    world_.run_for(1s);  // handlers that began nevertheless
    return true;
  }

  const std::shared_ptr<records> seen = std::make_shared<records>();
  call_result result;

 private:
  void fail() {
    switch (plan_.by) {
      case failure::power_loss:
        world_.crash("first");
        world_.run_for(5s);
        world_.restart("first");
        break;
      case failure::crash:
        world_.crash("first");
        world_.restart("first");
        break;
      case failure::reset:
        world_.set_faults(sim::faults().resets(1));
        world_.run_for(500us);
        world_.set_faults({});
        break;
      case failure::end:
        if (const auto held = first_.lock()) held->srv.reset();
        break;
      case failure::drain:
        if (const auto held = first_.lock()) held->srv->stop();
        break;
    }
  }

  const plan plan_;
  std::weak_ptr<serving> first_;
  sim::world world_;
  runtime& client_ = world_.host("client");
  std::optional<channel> channel_;
};

// How often each end was seen, over all steps.
using ends = std::map<std::string, int>;

void check(const flight& f, const plan& p, ends& seen, const std::string& where) {
  const status_code code = f.result.outcome.code();
  EXPECT_TRUE(code == status_code::ok || code == status_code::unavailable) << where << f.result.outcome;
  int executions = 0;
  const auto& all = f.seen->all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const attempt_record& a = all[i];
    executions += a.executions;
    EXPECT_TRUE(a.ended) << where;
    EXPECT_LE(a.executions, 1) << where << "an attempt is executed once at most";
    if (!a.attached) {
      EXPECT_EQ(a.executions, 0) << where << "an attempt without a connection";
    }
    if (a.outcome.ok() || a.headers) {
      EXPECT_EQ(a.executions, 1) << where;
    }
    if (i > 0 && a.kind == attempt_kind::transparent_retry) {
      EXPECT_EQ(all[i - 1].executions, 0) << where << "it was repeated as not processed";
      ++seen["retried transparently"];
    }
  }
  if (!p.policy) {
    EXPECT_LE(executions, 1) << where;
  }
  if (code == status_code::ok) {
    EXPECT_EQ(all.back().executions, 1) << where;
    EXPECT_EQ(f.result.replies, p.streams ? replies_of_stream : 1) << where;
  } else if (!p.streams) {
    EXPECT_EQ(f.result.replies, 0) << where;
  }
  ++seen[std::string(name_of(code)) + ", executed " + std::to_string(executions)];
  if (p.streams && code != status_code::ok && f.result.replies > 0) ++seen["cut stream"];
}

// Every step of a call, until one comes before which it has ended.
ends sweep(const plan& p) {
  ends seen;
  for (int step = 0;; ++step) {
    flight f(p);
    const bool failed = f.fail_at(step);
    check(f, p, seen, p.text(step) + ": ");
    if (!failed) {
      seen["steps"] = step;
      return seen;
    }
  }
}

ends sweep_all(plan p) {
  ends sum;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    p.seed = seed;
    for (const auto& [what, n] : sweep(p)) sum[what] += n;
  }
  return sum;
}

class calls_in_flight : public ::testing::TestWithParam<bool> {};

TEST_P(calls_in_flight, AFailureAtAnyStepIsWhatTheTableSays) {
  for (const failure by : failures) {
    const plan p{.streams = GetParam(), .by = by};
    ends seen = sweep_all(p);
    SCOPED_TRACE(p.text(-1));
    EXPECT_GT(seen["steps"], 100);
    EXPECT_GT(seen["OK, executed 1"], 0);
    if (by == failure::drain) {
      EXPECT_EQ(seen["OK, executed 1"], seen["steps"] + seeds) << "no call fails";
      continue;
    }
    EXPECT_GT(seen["UNAVAILABLE, executed 1"], 0);
    EXPECT_EQ(seen["cut stream"] > 0, p.streams);
    // The server says which calls it has not seen, if it can say anything.
    EXPECT_EQ(seen["retried transparently"] > 0, by == failure::end);
    EXPECT_EQ(seen["UNAVAILABLE, executed 0"] > 0, by != failure::end);
  }
}

TEST_P(calls_in_flight, WithAPolicyItMayBeExecutedAgain) {
  for (const failure by : failures) {
    const plan p{.streams = GetParam(), .policy = true, .by = by};
    ends seen = sweep_all(p);
    SCOPED_TRACE(p.text(-1));
    EXPECT_GT(seen["OK, executed 1"], 0);
    EXPECT_EQ(seen["OK, executed 2"] > 0, by != failure::drain);
    // Once its response headers have arrived, a stream is not repeated.
    EXPECT_EQ(seen["cut stream"] > 0, p.streams && by != failure::drain);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, calls_in_flight, ::testing::Values(false, true),
                         [](const auto& i) { return i.param ? "ServerStream" : "Unary"; });

}  // namespace
}  // namespace coracle::testing_support::calls_in_flight_test
