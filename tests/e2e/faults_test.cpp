// Faults that the interceptors of clients and servers inject (client_faults(), server_faults()).
#include "support/echo_fixture.hpp"

#include "coracle/client/client_faults.hpp"
#include "coracle/server/server_faults.hpp"

#include <chrono>
#include <limits>
#include <vector>

namespace coracle::testing_support::faults_test {
namespace {

using namespace std::chrono_literals;

class counting_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    ++calls;
    co_return request;
  }
  int calls = 0;
};

class faults_of_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return service_; }
  void use(const fault_options& options) {
    channel_.emplace(channel_->with_interceptors({client_faults(options)}));
  }
  void serve_with(const fault_options& options) {
    channel_.reset();
    server_.emplace(rt());
    server_->add_interceptor(server_faults(options));
    server_->add(service_);
    link();
  }
  struct answer {
    status outcome;
    duration took{};
  };
  static task<answer> say(echo_stub s, call_options with = {}) {
    const time_point began = coro::this_executor().now();
    const echo::Text request = text("a");
    const auto reply = co_await s.Say(request, with);
    answer a;
    a.outcome = reply.status();
    a.took = coro::this_executor().now() - began;
    co_return a;
  }
  static call_options asking(std::string_view name, std::string_view value) {
    call_options o;
    o.metadata.add(name, value);
    return o;
  }
  int failures_of(int n) {
    int failed = 0;
    for (int i = 0; i < n; ++i) failed += !run(say(stub())).outcome.ok();
    return failed;
  }
  task<> delay_one_of_three() {
    std::vector<answer> all(3);
    const auto into = [](echo_stub s, answer& to) -> task<> { to = co_await say(s); };
    scope work{co_await coro::this_environment()};
    for (answer& a : all) work.spawn(into(stub(), a));
    co_await work.join();
    EXPECT_GE(all[0].took, 10s);
    EXPECT_LT(all[1].took, 10s);
    EXPECT_LT(all[2].took, 10s);
    const answer next = co_await say(stub());
    EXPECT_GE(next.took, 10s) << "the first delay has ended";
  }
  counting_service service_;
};
INSTANTIATE_TEST_SUITE_P(Simulated, faults_of_calls, simulation_over_tcp, echo_fixture::case_name);

TEST_P(faults_of_calls, AreNoneByDefault) {
  use({});
  EXPECT_EQ(failures_of(10), 0);
}

TEST_P(faults_of_calls, EndCallsBeforeTheyAreSent) {
  fault_options options;
  options.abort = status::unavailable("as planned");
  use(options);
  EXPECT_EQ(run(say(stub())).outcome, status::unavailable("as planned"));
  EXPECT_EQ(service_.calls, 0);
}

TEST_P(faults_of_calls, EndCallsBeforeTheirHandlersStart) {
  fault_options options;
  options.abort = status::resource_exhausted("as planned");
  options.delay = 10s;
  serve_with(options);
  const answer a = run(say(stub()));
  EXPECT_EQ(a.outcome, status::resource_exhausted("as planned"));
  EXPECT_GE(a.took, 10s);
  EXPECT_EQ(service_.calls, 0);
}

TEST_P(faults_of_calls, DelayCallsWithinTheirDeadlines) {
  fault_options options;
  options.delay = 10s;
  use(options);
  const answer slow = run(say(stub()));
  EXPECT_EQ(slow.outcome, status());
  EXPECT_GE(slow.took, 10s);
  const answer late = run(say(stub(), within(1s)));
  EXPECT_EQ(late.outcome.code(), status_code::deadline_exceeded);
  EXPECT_LT(late.took, 10s);
  channel_options with_timeout;
  with_timeout.calls.timeout = 1s;
  with_timeout.interceptors = {client_faults(options)};
  channel_.emplace(rt(), address_, insecure(), with_timeout);
  const answer late_by_default = run(say(stub()));
  EXPECT_EQ(late_by_default.outcome.code(), status_code::deadline_exceeded);
  EXPECT_LT(late_by_default.took, 10s);
  EXPECT_EQ(service_.calls, 1);
}

TEST_P(faults_of_calls, HaveAPartOfTheCalls) {
  fault_options options;
  options.abort = status::unavailable("as planned");
  options.aborted = 0.25;
  use(options);
  const int failed = failures_of(400);
  EXPECT_GT(failed, 60);
  EXPECT_LT(failed, 140);
  EXPECT_EQ(service_.calls, 400 - failed);
}

TEST_P(faults_of_calls, AreOfTheMethodsThatWereNamed) {
  fault_options options;
  options.abort = status::unavailable("as planned");
  options.methods = {"/echo.Echo/Other", "/another.Service/"};
  use(options);
  EXPECT_EQ(failures_of(3), 0);
  options.methods = {"/echo.Echo/"};
  use(options);
  EXPECT_EQ(failures_of(3), 3);
}

TEST_P(faults_of_calls, AreChosenByMetadataOnlyIfTheProgramSaysSo) {
  const call_options request = asking("x-envoy-fault-abort-grpc-request", "5");
  serve_with({});
  EXPECT_EQ(run(say(stub(), request)).outcome, status());
  fault_options options;
  options.by_metadata = true;
  serve_with(options);
  EXPECT_EQ(run(say(stub(), request)).outcome.code(), status_code::not_found);
  EXPECT_EQ(run(say(stub(), asking("x-envoy-fault-abort-request", "503"))).outcome.code(),
            status_code::unavailable);
  EXPECT_GE(run(say(stub(), asking("x-envoy-fault-delay-request", "10000"))).took, 10s);
  EXPECT_EQ(run(say(stub())).outcome, status());
  for (const char* odd : {"0", "17", "-1", "five", "", "99999999999999999999"})
    EXPECT_EQ(run(say(stub(), asking("x-envoy-fault-abort-grpc-request", odd))).outcome, status()) << odd;
  call_options never_drawn = request;
  never_drawn.metadata.add("x-envoy-fault-abort-request-percentage", "0");
  EXPECT_EQ(run(say(stub(), never_drawn)).outcome, status());
}

TEST_P(faults_of_calls, ChosenByMetadataComeBeforeTheOthers) {
  fault_options options;
  options.by_metadata = true;
  options.abort = status::unavailable("as planned");
  use(options);
  EXPECT_EQ(run(say(stub())).outcome.code(), status_code::unavailable);
  EXPECT_EQ(run(say(stub(), asking("x-envoy-fault-abort-grpc-request", "5"))).outcome.code(),
            status_code::not_found);
}

TEST_P(faults_of_calls, DelayNoMoreCallsAtATimeThanTheyMay) {
  fault_options options;
  options.delay = 10s;
  options.active_max = 1;
  use(options);
  run(delay_one_of_three());
}

TEST_P(faults_of_calls, RefuseOptionsThatMeanNothing) {
  const auto made = [](auto change) {
    fault_options options;
    change(options);
    (void)client_faults(options);
  };
  EXPECT_THROW(made([](fault_options& o) { o.delay = -1s; }), usage_error);
  EXPECT_THROW(made([](fault_options& o) { o.aborted = 1.5; }), usage_error);
  EXPECT_THROW(made([](fault_options& o) { o.delayed = std::numeric_limits<double>::quiet_NaN(); }),
               usage_error);
  EXPECT_THROW(made([](fault_options& o) { o.methods = {"echo.Echo/Say"}; }), usage_error);
}

}  // namespace
}  // namespace coracle::testing_support::faults_test
