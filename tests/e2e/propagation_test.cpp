// What a handler's call propagates to the calls that the handler makes.
#include "support/echo_fixture.hpp"

#include <vector>

namespace coracle::testing_support::propagation_test {
namespace {

using namespace std::chrono_literals;

constexpr const char* parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Reports what each hop has received, and continues as often as the request's count says.
class hopping final : public echo_service {
 public:
  struct hop {
    std::string parent;
    std::string state;
    std::string binary;
    std::string baggage;
    duration left{};
    criticality level{};
  };
  std::vector<hop> hops;
  bool detached = false;
  bool traces = false;
  std::string tenant;
  std::optional<criticality> level;
  std::optional<duration> margin;

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    const auto in = [&](std::string_view key) {
      return std::string(context.metadata().find(key).value_or(""));
    };
    hops.push_back({in("traceparent"), in("tracestate"), in("grpc-trace-bin"), in("baggage"),
                    context.deadline() - coro::this_executor().now(), context.criticality()});
    if (traces && context.trace()) context.set_trace(context.trace()->below({1, 2, 3, 4, 5, 6, 7, 8}));
    if (!tenant.empty()) context.baggage().set("tenant", tenant);
    if (request.count() == 0) co_return request;
    const echo::Text onward = text(request.text(), request.count() - 1);
    call_options options;
    options.detached = detached;
    options.criticality = level;
    options.deadline_margin = margin;
    co_return co_await echo_stub(*next).Say(onward, options);
  }

 private:
  static echo::Text text(const std::string& text, int count) {
    echo::Text t;
    t.set_text(text);
    t.set_count(count);
    return t;
  }
};

class propagation : public echo_fixture {
 protected:
  void SetUp() override {
    echo_fixture::SetUp();
    if (!IsSkipped()) handler_.next = &*channel_;
  }
  [[nodiscard]] service& served() noexcept override { return handler_; }
  void call(const call_options& options) {
    const auto reply = sync_wait(stub().Say(text("x", 2), options));
    ASSERT_EQ(reply.status(), status());
    ASSERT_EQ(handler_.hops.size(), 3u);
  }
  hopping handler_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, propagation, every_world_over_tcp, echo_fixture::case_name);

TEST_P(propagation, TraceAndBaggagePassUnmentionedAndUnchanged) {
  call(call_options()
           .add_metadata("traceparent", parent)
           .add_metadata("tracestate", "a=1")
           .add_metadata("tracestate", "b=2")
           .add_metadata("baggage", "user=ada;p=1, odd"));
  for (const auto& hop : handler_.hops) EXPECT_EQ(hop.parent, parent);
  EXPECT_EQ(handler_.hops[0].state, "a=1");  // the first of two
  EXPECT_EQ(handler_.hops[2].state, "a=1,b=2");
  EXPECT_EQ(handler_.hops[2].baggage, "user=ada;p=1, odd");
}

TEST_P(propagation, ADeadlineIsEarlierByTheMarginOfEachHop) {
  handler_.margin = 100s;
  call(within(1000s));
  EXPECT_LE(handler_.hops[0].left, 1000s);
  EXPECT_LE(handler_.hops[1].left, 900s);
  EXPECT_LE(handler_.hops[2].left, 800s);
  EXPECT_GT(handler_.hops[2].left, 0s);
}

// The interceptors get the deadline that is earlier, and it is not shortened again for what they send.
TEST_P(propagation, AMarginCountsOnceAroundInterceptors) {
  class passing final : public client_interceptor {
    task<status> intercept(client_context& call, next_call next) override {
      left = call.deadline() - coro::this_executor().now();
      co_return co_await next();
    }

   public:
    duration left{};
  };
  const auto around = std::make_shared<passing>();
  channel_options options;
  options.calls.deadline_margin = 100s;
  options.interceptors = {around};
  channel_.emplace(rt(), address_, insecure(), options);
  handler_.next = &*channel_;
  call(within(1000s));
  EXPECT_LE(handler_.hops[0].left, 1000s);
  EXPECT_GT(handler_.hops[0].left, 900s) << "nothing was inherited";
  EXPECT_LE(around->left, 800s);
  EXPECT_GT(handler_.hops[2].left, 700s);
}

TEST_P(propagation, ANegativeMarginIsNone) {
  handler_.margin = -100s;
  call(within(1000s));
  EXPECT_LE(handler_.hops[2].left, 1000s);
}

// The handler answers while its own caller still waits.
TEST_P(propagation, AMarginThatLeavesNoTimeFailsTheCallOfTheHandler) {
  handler_.margin = duration::max();
  const auto reply = sync_wait(stub().Say(text("x", 2), within(1000s)));
  EXPECT_EQ(reply.status().code(), status_code::deadline_exceeded);
  EXPECT_EQ(handler_.hops.size(), 1u);
}

TEST_P(propagation, AMarginDoesNotLimitACallWithoutADeadline) {
  handler_.margin = 100s;
  call({});
}

TEST_P(propagation, ATraceThatIsNotUnderstoodIsNotCarriedOn) {
  call(call_options()
           .add_metadata("traceparent", "00-not-a-trace")
           .add_metadata("tracestate", "a=1")
           .add_metadata("baggage", std::string(9000, 'x')));
  EXPECT_EQ(handler_.hops[0].parent, "00-not-a-trace");
  EXPECT_EQ(handler_.hops[1].parent, "");
  EXPECT_EQ(handler_.hops[1].state, "");
  EXPECT_EQ(handler_.hops[1].baggage, "");
}

TEST_P(propagation, ATracerPutsItsSpanIntoTheCallsItMakes) {
  handler_.traces = true;
  call(call_options().add_metadata("traceparent", parent).add_metadata("tracestate", "a=1"));
  EXPECT_EQ(handler_.hops[0].parent, parent);
  EXPECT_EQ(handler_.hops[1].parent, "00-4bf92f3577b34da6a3ce929d0e0e4736-0102030405060708-01");
  EXPECT_EQ(handler_.hops[1].state, "a=1");
}

TEST_P(propagation, BaggageThatAHandlerChangesIsCarriedOn) {
  handler_.tenant = "a b,c";
  call(call_options().add_metadata("baggage", "user=ada"));
  EXPECT_EQ(handler_.hops[0].baggage, "user=ada");
  EXPECT_EQ(handler_.hops[2].baggage, "user=ada,tenant=a%20b%2Cc");
}

call_options of_level(criticality c) {
  call_options o;
  o.criticality = c;
  return o;
}

TEST_P(propagation, CriticalityPassesToTheCallsOfHandlers) {
  call(of_level(criticality::sheddable_plus));
  for (const auto& hop : handler_.hops) EXPECT_EQ(hop.level, criticality::sheddable_plus);
}

TEST_P(propagation, AHandlerGivesItsCallsAnotherCriticality) {
  handler_.level = criticality::sheddable;
  call({});
  EXPECT_EQ(handler_.hops[0].level, criticality::critical);
  EXPECT_EQ(handler_.hops[2].level, criticality::sheddable);
}

TEST_P(propagation, ADetachedCallIsCriticalAgain) {
  handler_.detached = true;
  call(of_level(criticality::sheddable));
  EXPECT_EQ(handler_.hops[0].level, criticality::sheddable);
  EXPECT_EQ(handler_.hops[1].level, criticality::critical);
}

TEST_P(propagation, ClientsAreNotTrustedWithMoreThanCritical) {
  call(of_level(criticality::critical_plus));
  for (const auto& hop : handler_.hops) EXPECT_EQ(hop.level, criticality::critical);
}

TEST_P(propagation, AnUnknownCriticalityIsCritical) {
  call(call_options().add_metadata("x-request-criticality", "sheddable"));
  EXPECT_EQ(handler_.hops[0].level, criticality::critical);
}

TEST_P(propagation, ServersMayTrustTheirClientsWithCriticalPlus) {
  server_options options;
  options.max_criticality = criticality::critical_plus;
  make_server(options);
  handler_.next = &*channel_;
  call(of_level(criticality::critical_plus));
  for (const auto& hop : handler_.hops) EXPECT_EQ(hop.level, criticality::critical_plus);
}

TEST_P(propagation, ADetachedCallInheritsNothing) {
  handler_.detached = true;
  call(within(10s).add_metadata("traceparent", parent).add_metadata("baggage", "user=ada"));
  EXPECT_LE(handler_.hops[0].left, duration(10s));
  EXPECT_GT(handler_.hops[1].left, duration(1h));
  EXPECT_EQ(handler_.hops[1].parent, "");
  EXPECT_EQ(handler_.hops[1].baggage, "");
}

}  // namespace
}  // namespace coracle::testing_support::propagation_test
