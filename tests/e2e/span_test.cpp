// Spans of the program's own work: what belongs to them, and how they end.
#include "coracle/telemetry/span.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/when_all.hpp"
#include "support/traced_fixture.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::span_test {
namespace {

using namespace std::chrono_literals;

class spans_of_users : public traced_fixture {
 protected:
  void sample(sampler s) {
    trace_options options;
    options.sample = std::move(s);
    start(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, spans_of_users, every_world_over_tcp, echo_fixture::case_name);

task<> named(std::string name) {
  const span s = co_await start_span(name);
  co_await sleep_for(1ms);
}

task<std::optional<trace_context>> here() {
  const auto found = co_await this_trace();
  co_return found;
}

TEST_P(spans_of_users, ASpanFollowsWhatItsCoroutineAwaits) {
  run([](echo_stub to) -> task<> {
    span outer = co_await start_span("outer", span_kind::consumer);
    co_await named("child");
    {
      const coro::environment& inside = co_await coro::this_environment();
      scope work{inside};
      work.spawn(named("spawned"));
      co_await work.join();
    }
    task<> one = named("first");
    task<> two = named("second");
    co_await when_all(std::move(one), std::move(two));
    const echo::Text x = make_text("x");
    (void)co_await to.Say(x);
    const auto mine = outer.context();
    const auto inherited = co_await here();
    EXPECT_TRUE(mine && inherited && mine->span() == inherited->span());
    outer.end();
    co_await named("after");
  }(stub()));
  const auto all = spans(9);
  const finished_span& outer = only(all, "outer");
  EXPECT_EQ(outer.kind, span_kind::consumer);
  EXPECT_EQ(outer.parent, trace_context::span_id{});
  for (const char* name : {"child", "spawned", "first", "second", "Sent.echo.Echo.Say"}) {
    EXPECT_EQ(only(all, name).parent, outer.span) << name;
    EXPECT_EQ(only(all, name).trace, outer.trace) << name;
  }
  EXPECT_NE(only(all, "after").trace, outer.trace);
}

TEST_P(spans_of_users, SpansOfOneCoroutineNestAndMayEndInAnyOrder) {
  run([]() -> task<> {
    std::optional<span> a;
    std::optional<span> b;
    a.emplace(co_await start_span("a"));
    b.emplace(co_await start_span("b"));
    a.reset();
    co_await named("in b");
    b.reset();
    co_await named("outside");
  }());
  const auto all = spans(4);
  EXPECT_EQ(only(all, "b").parent, only(all, "a").span);
  EXPECT_EQ(only(all, "in b").parent, only(all, "b").span);
  EXPECT_EQ(only(all, "outside").parent, trace_context::span_id{});
}

TEST_P(spans_of_users, ASpanHasWhatTheProgramSays) {
  const trace_context other =
      *trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  run([](trace_context linked) -> task<> {
    span s = co_await start_span("work");
    EXPECT_TRUE(s.recording());
    s.set("text", "value");
    s.set("number", 12);
    s.set("share", 0.5);
    s.set("flag", true);
    s.set("list", std::vector<std::string>{"a", "b"});
    s.add_event("event", {{"key", std::string("value")}});
    s.add_link(linked);
    s.note(status());
    s.note(status::not_found("no such movie"));
    s.end();
    EXPECT_FALSE(s.recording());
    s.set("late", true);
  }(other));
  const auto all = spans(1);
  const finished_span& s = only(all, "work");
  EXPECT_EQ(s.attributes, (attribute_list{{"text", std::string("value")},
                                          {"number", std::int64_t{12}},
                                          {"share", 0.5},
                                          {"flag", true},
                                          {"list", std::vector<std::string>{"a", "b"}}}));
  ASSERT_EQ(s.events.size(), 1U);
  EXPECT_EQ(s.events[0].name, "event");
  EXPECT_EQ(s.events[0].attributes, (attribute_list{{"key", std::string("value")}}));
  ASSERT_EQ(s.links.size(), 1U);
  EXPECT_EQ(s.links[0].trace, other.trace());
  EXPECT_EQ(s.outcome, span_outcome::error);
  EXPECT_EQ(s.description, "NOT_FOUND, no such movie");
}

TEST_P(spans_of_users, AnUnsampledSpanDropsWhatIsInside) {
  // The server of the inner call follows its parent.
  sample(sampler::parent_based(sampler::by_method({{"outer", sampler::always_off()}}, sampler::always_on())));
  run([](echo_stub to) -> task<> {
    const span s = co_await start_span("outer");
    EXPECT_FALSE(s.recording());
    const auto where = co_await here();
    EXPECT_TRUE(where && !where->sampled());
    co_await named("child");
    const echo::Text x = make_text("x");
    (void)co_await to.Say(x);
  }(stub()));
  EXPECT_EQ(spans(0).size(), 0U);
  run(named("next"));
  (void)only(spans(1), "next");
}

TEST_P(spans_of_users, WithoutTracesASpanDoesNothing) {
  any_world other(std::get<0>(GetParam()));
  const bool recording = sync_wait(*other.get(), other.get()->at(0), []() -> task<bool> {
    span s = co_await start_span("work");
    s.set("key", 1);
    s.add_event("event");
    span moved = std::move(s);
    const auto where = co_await this_trace();
    co_return moved.recording() || moved.context() || where;
  }());
  EXPECT_FALSE(recording);
}

}  // namespace
}  // namespace coracle::testing_support::span_test
