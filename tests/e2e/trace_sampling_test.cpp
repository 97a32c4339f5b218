// Which calls have spans, what unsampled calls send, and who gets the spans.
#include "coracle/telemetry/span.hpp"
#include "support/traced_fixture.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::trace_sampling_test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view ids = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

// Records what it receives. Say("twice") makes two calls.
class receiving final : public echo_service {
 public:
  std::vector<metadata> received;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    received.push_back(context.metadata());
    if (request.text() != "twice") co_return request;
    const echo::Text one = make_text("one");
    const echo_stub to(*next);
    const auto first = co_await to.Say(one);
    const auto second = co_await to.Say(one);
    co_return second;
  }
  // The value of a key in each call.
  [[nodiscard]] std::vector<std::string> values(std::string_view key) const {
    std::vector<std::string> all;
    for (const metadata& m : received) all.emplace_back(m.find(key).value_or(""));
    return all;
  }
};

class trace_sampling : public traced_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return handler_; }
  void SetUp() override {
    traced_fixture::SetUp();
    if (!IsSkipped()) handler_.next = &*channel_;
  }
  void restart(const trace_options& options) {
    start(options);
    handler_.next = &*channel_;
    handler_.received.clear();
  }
  void restart(sampler s) {
    trace_options options;
    options.sample = std::move(s);
    restart(options);
  }
  void say(std::string text, const call_options& options = {}) {
    ASSERT_EQ(sync_wait(stub().Say(make_text(std::move(text)), options)).status(), status());
  }
  // A channel without telemetry, as of another program: it has a runtime of its own.
  void say_from_outside(const std::vector<std::pair<std::string, std::string>>& headers,
                        std::string text = "x") {
    call_options options;
    for (const auto& [key, value] : headers) options.add_metadata(key, value);
    any_world other(std::get<0>(GetParam()));
    channel from(*other.get(), address_, insecure());
    ASSERT_EQ(sync_wait(echo_stub(from).Say(make_text(std::move(text)), options)).status(), status());
  }
  receiving handler_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, trace_sampling, every_world_over_tcp, echo_fixture::case_name);

// Calls of say_from_outside(): a simulation has one runtime in this fixture.
class traces_from_outside : public trace_sampling {};
INSTANTIATE_TEST_SUITE_P(Everywhere, traces_from_outside, every_kernel_over_tcp, echo_fixture::case_name);

TEST_P(trace_sampling, AnUnsampledCallHasNoSpansAndSaysSo) {
  restart(sampler::parent_based(sampler::always_off()));
  say("twice");
  EXPECT_EQ(spans(0).size(), 0U);
  const auto parents = handler_.values("traceparent");
  ASSERT_EQ(parents.size(), 3U);
  for (const std::string& p : parents) {
    ASSERT_EQ(p.size(), 55U);
    EXPECT_EQ(p.substr(0, 35), parents[0].substr(0, 35));  // one trace
    EXPECT_TRUE(p.ends_with("-02")) << p;
  }
}

TEST_P(traces_from_outside, AnUnsampledTraceThatBeginsInAServerIsOneTrace) {
  restart(sampler::parent_based(sampler::always_off()));
  say_from_outside({}, "twice");
  const auto parents = handler_.values("traceparent");
  ASSERT_EQ(parents.size(), 3U);
  EXPECT_EQ(parents[0], "");
  EXPECT_EQ(parents[1], parents[2]);
  EXPECT_TRUE(parents[1].ends_with("-02"));
  EXPECT_EQ(spans(0).size(), 0U);
}

TEST_P(traces_from_outside, TheCallerDecides) {
  for (const bool sampled : {true, false}) {
    restart(sampler::parent_based(sampled ? sampler::always_off() : sampler::always_on()));
    const std::string flags = sampled ? "-01" : "-00";
    say_from_outside({{"traceparent", "00-" + std::string(ids) + flags}, {"tracestate", "vendor=1"}},
                     "twice");
    const auto all = spans(sampled ? 7 : 0);
    EXPECT_EQ(all.size(), sampled ? 7U : 0U);
    if (sampled) {
      EXPECT_EQ(find_all(all, "Recv.echo.Echo.Say").size(), 3U);
      for (const finished_span& s : all) EXPECT_EQ(s.state, "vendor=1");
    }
    for (const std::string& p : handler_.values("traceparent")) {
      EXPECT_TRUE(p.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-")) << p;
      EXPECT_TRUE(p.ends_with(flags)) << p;
    }
    EXPECT_EQ(handler_.values("tracestate"), (std::vector<std::string>(3, "vendor=1")));
  }
}

TEST_P(traces_from_outside, AServerThatDropsWhatItsCallerSampledSaysSo) {
  restart(sampler::always_off());
  say_from_outside({{"traceparent", "00-" + std::string(ids) + "-01"}}, "twice");
  EXPECT_EQ(spans(0).size(), 0U);
  EXPECT_EQ(handler_.values("traceparent")[1], "00-" + std::string(ids) + "-00");
}

TEST_P(traces_from_outside, AMalformedParentBeginsANewTrace) {
  restart(sampler::parent_based(sampler::always_on()));
  say_from_outside({{"traceparent", "00-" + std::string(ids) + "-zz"}, {"tracestate", "vendor=1"}});
  const auto all = spans(1);
  const finished_span& served = only(all, "Recv.echo.Echo.Say");
  EXPECT_EQ(served.parent, trace_context::span_id{});
  EXPECT_EQ(served.state, "");
}

TEST_P(trace_sampling, ARatioIsWrittenToTheTracestate) {
  restart(sampler::parent_based(sampler::ratio(0.5)));
  for (int i = 0; i < 64; ++i) say("x");
  const auto all = spans(3);
  const std::size_t calls = find_all(all, "Sent.echo.Echo.Say").size();
  EXPECT_GT(calls, 10U);
  EXPECT_LT(calls, 54U);
  EXPECT_EQ(all.size(), 3 * calls);
  for (const finished_span& s : all) {
    EXPECT_EQ(s.state, "ot=th:8");
    EXPECT_GE(s.trace[9], 0x80);  // what the threshold says
  }
}

TEST_P(trace_sampling, MethodsHaveTheirOwnSamplers) {
  restart(sampler::by_method({{"echo.Echo/Say", sampler::always_off()}}, sampler::always_on()));
  say("x");
  ASSERT_EQ(sync_wait(stub().SayAtOnce(make_text("x"))).status(), status());
  for (const finished_span& s : spans(3)) EXPECT_NE(s.name.find("SayAtOnce"), std::string::npos) << s.name;
}

TEST_P(traces_from_outside, B3IsUnderstoodAndSpoken) {
  trace_options options;
  options.propagators = propagator_set{.w3c = false, .b3 = true, .b3_multi = true};
  restart(options);
  say_from_outside({{"b3", std::string(ids) + "-d"}}, "twice");
  const auto all = spans(7);
  for (const finished_span& s : all) EXPECT_EQ(s.trace[0], 0x4b);
  const std::string single = handler_.values("b3")[1];
  EXPECT_TRUE(single.starts_with("4bf92f3577b34da6a3ce929d0e0e4736-")) << single;
  EXPECT_TRUE(single.ends_with("-d")) << single;
  EXPECT_EQ(handler_.values("x-b3-traceid")[1], "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(handler_.values("x-b3-flags")[1], "1");
  handler_.received.clear();
  say_from_outside({{"b3", "0"}}, "twice");
  EXPECT_EQ(spans(0).size(), 0U);
  EXPECT_TRUE(handler_.values("b3")[1].ends_with("-0")) << handler_.values("b3")[1];
}

TEST_P(traces_from_outside, B3AloneLeavesOutTheFormsOfW3c) {
  trace_options options;
  options.propagators = propagator_set{.w3c = false, .b3 = true};
  restart(options);
  // Sampled, dropped by the caller, and begun by a caller without a trace.
  for (const char* sent : {"-1", "-0", ""}) {
    handler_.received.clear();
    say_from_outside(*sent ? std::vector<std::pair<std::string, std::string>>{{"b3", std::string(ids) + sent}}
                           : std::vector<std::pair<std::string, std::string>>{},
                     "twice");
    for (const std::size_t i : {1U, 2U}) {
      EXPECT_TRUE(handler_.values("b3").at(i).ends_with(*sent ? sent : "-1")) << handler_.values("b3").at(i);
      EXPECT_EQ(handler_.values("traceparent").at(i), "") << sent;
      EXPECT_EQ(handler_.values("tracestate").at(i), "") << sent;
    }
  }
}

TEST_P(trace_sampling, AProgramsOwnTraceparentIsTheParent) {
  say("x", call_options().add_metadata("traceparent", "00-" + std::string(ids) + "-01"));
  const auto all = spans(3);
  const finished_span& call = only(all, "Sent.echo.Echo.Say");
  EXPECT_EQ(call.trace[0], 0x4b);
  EXPECT_EQ(call.parent, trace_context::parse("00-" + std::string(ids) + "-01")->span());
  EXPECT_EQ(handler_.received.at(0).find_all("traceparent").size(), 1U);  // the attempt's
  EXPECT_EQ(only(all, "Recv.echo.Echo.Say").parent, only(all, "Attempt.echo.Echo.Say").span);
}

TEST_P(trace_sampling, UnsampledFailuresAreRecordedAtTheirEndsIfAskedFor) {
  trace_options options;
  options.sample = sampler::always_off();
  options.keep_errors = true;
  options.kept_per_second = 3;
  restart(options);
  say("x");
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(sync_wait(stub().Misbehave(make_text("status"))).status().code(), status_code::not_found);
  const auto all = spans(3);
  EXPECT_EQ(all.size(), 3U);
  for (const finished_span& s : all) {
    EXPECT_EQ(s.name, "Recv.echo.Echo.Misbehave");
    EXPECT_EQ(text_of(s, "error.type"), "NOT_FOUND");
    EXPECT_TRUE(s.events.empty());
  }
}

TEST_P(trace_sampling, SlowCallsAreRecordedWithTheTimeThatTheyTook) {
  trace_options options;
  options.sample = sampler::always_off();
  options.keep_slower_than = 20ms;
  restart(options);
  say("x");
  (void)sync_wait(stub().Misbehave(make_text("hang"), within(30ms)));
  const auto all = spans(1);
  const finished_span& s = only(all, "Recv.echo.Echo.Misbehave");
  EXPECT_GE(s.end - s.start, 20ms);
  EXPECT_LT(s.end - s.start, 10s);
}

TEST_P(trace_sampling, HistogramsNameSampledCalls) {
  say("x");
  const auto all = spans(3);
  const metrics_snapshot now = run(telemetry_->metrics());
  const auto example_of = [&](std::string_view name) {
    const metric_family* const f = now.find(name);
    if (!f || f->points.empty() || f->points[0].exemplars.empty()) return metric_exemplar();
    EXPECT_EQ(f->points[0].exemplars.size(), 1U);
    return f->points[0].exemplars[0];
  };
  EXPECT_EQ(example_of("grpc.server.call.duration").span, only(all, "Recv.echo.Echo.Say").span);
  EXPECT_EQ(example_of("grpc.client.attempt.duration").span, only(all, "Attempt.echo.Echo.Say").span);
  EXPECT_EQ(example_of("grpc.client.call.duration").span, only(all, "Sent.echo.Echo.Say").span);
  EXPECT_EQ(example_of("grpc.client.call.duration").trace, all.front().trace);
  EXPECT_EQ(example_of("grpc.server.call.rcvd_total_compressed_message_size").value, 3);
}

TEST_P(trace_sampling, SpansThatNoSinkTakesAreCounted) {
  any_world other(std::get<0>(GetParam()));
  telemetry without(*other.get());
  trace_options options;
  options.sample = sampler::always_on();
  without.trace(options);
  sync_wait(*other.get(), other.get()->at(0), [](telemetry t) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const span s = co_await start_span("work");
    }
    co_await t.flush_spans();
  }(without));
  const metrics_snapshot now = sync_wait(*other.get(), other.get()->at(0), without.metrics());
  ASSERT_TRUE(now.find("coracle.telemetry.spans"));
  EXPECT_EQ(now.find("coracle.telemetry.spans")->points[0].value, 3);
  EXPECT_EQ(now.find("coracle.telemetry.spans_dropped")->points[0].value, 3);
}

TEST_P(trace_sampling, SpansReachTheSinksWithoutAFlush) {
  auto second = std::make_shared<memory_span_sink>(1);
  telemetry_->add_span_sink(second);
  say("x");
  run([](runtime&) -> task<> { co_await sleep_for(1200ms); }(rt()));
  EXPECT_EQ(sink_->take_spans().size(), 3U);
  EXPECT_EQ(second->take_spans().size(), 1U);  // it has no room for more
  EXPECT_EQ(second->dropped(), 2U);
}

}  // namespace
}  // namespace coracle::testing_support::trace_sampling_test
