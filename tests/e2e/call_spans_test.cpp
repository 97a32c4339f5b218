// The spans of calls, of their attempts and of handlers (gRFC A72).
#include "coracle/client/generic_stub.hpp"
#include "coracle/telemetry/span.hpp"
#include "support/traced_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::call_spans_test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Say("onward") makes calls of its own, within a span.
class calling final : public echo_service {
 public:
  std::atomic<int> failures{0};  // of SayAtOnce, before it succeeds
  std::vector<std::string> received;  // traceparent

  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    received.emplace_back(context.metadata().find("traceparent").value_or(""));
    if (request.text() != "onward") co_return request;
    const span s = co_await start_span("work");
    const echo::Text first = make_text("first");
    const echo_stub to(*next);
    const auto one = co_await to.Say(first);
    if (!one) co_return one.status();
    const auto two = co_await to.Say(first);
    co_return two;
  }
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    if (failures > 0) {
      --failures;
      co_return status::unavailable("not yet");
    }
    co_return request;
  }
};

class call_spans : public traced_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return handler_; }
  void SetUp() override {
    traced_fixture::SetUp();
    if (!IsSkipped()) handler_.next = &*channel_;
  }
  void restart(const trace_options& options, const channel_options& of_channel = {}) {
    start(options, of_channel);
    handler_.next = &*channel_;
    handler_.received.clear();
  }
  status say(std::string text, const call_options& options = {}) {
    return sync_wait(stub().Say(make_text(std::move(text)), options)).status();
  }
  calling handler_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, call_spans, every_world_over_tcp, echo_fixture::case_name);

TEST_P(call_spans, OneTraceCoversTheCallItsAttemptTheServerAndTheCallsOfTheHandler) {
  ASSERT_EQ(say("onward"), status());
  const auto all = spans(10);
  ASSERT_EQ(all.size(), 10U);
  for (const finished_span& s : all) {
    EXPECT_EQ(s.trace, all.front().trace);
    EXPECT_EQ(s.flags, 3);  // sampled, and the id is random
    EXPECT_GE(s.end, s.start);
  }
  // The order of ends is that of one loop, or of two.
  const auto of = [&](std::string_view name, const finished_span& parent) {
    for (const finished_span* s : find_all(all, name))
      if (s->parent == parent.span) return *s;
    ADD_FAILURE() << name;
    return finished_span();
  };
  finished_span none;
  const finished_span call = of("Sent.echo.Echo.Say", none);
  EXPECT_EQ(call.kind, span_kind::client);
  EXPECT_FALSE(call.parent_is_remote);
  const finished_span attempt = of("Attempt.echo.Echo.Say", call);
  EXPECT_EQ(attempt.kind, span_kind::client);
  const finished_span served = of("Recv.echo.Echo.Say", attempt);
  EXPECT_EQ(served.kind, span_kind::server);
  EXPECT_TRUE(served.parent_is_remote);
  const finished_span work = of("work", served);
  EXPECT_EQ(work.kind, span_kind::internal);
  EXPECT_FALSE(work.parent_is_remote);
  std::size_t inner = 0;
  for (const finished_span* s : find_all(all, "Sent.echo.Echo.Say")) inner += s->parent == work.span ? 1 : 0;
  EXPECT_EQ(inner, 2U);
  (void)of("Recv.echo.Echo.Say", of("Attempt.echo.Echo.Say", of("Sent.echo.Echo.Say", work)));
}

TEST_P(call_spans, AttributesFollowTheConventions) {
  ASSERT_EQ(say("x"), status());
  const auto all = spans(3);
  const finished_span& call = only(all, "Sent.echo.Echo.Say");
  const finished_span& attempt = only(all, "Attempt.echo.Echo.Say");
  const finished_span& served = only(all, "Recv.echo.Echo.Say");
  for (const finished_span* s : {&call, &served}) {
    EXPECT_EQ(text_of(*s, "rpc.system.name"), "grpc");
    EXPECT_EQ(text_of(*s, "rpc.method"), "echo.Echo/Say");
    EXPECT_EQ(text_of(*s, "rpc.status_code"), "OK");
    EXPECT_EQ(text_of(*s, "server.address"), "127.0.0.1");
    EXPECT_EQ(number_of(s->attributes, "server.port"), server_->port());
    EXPECT_EQ(text_of(*s, "network.peer.address"), "127.0.0.1");
    EXPECT_FALSE(s->find("error.type"));
    EXPECT_FALSE(s->find("rpc.system"));
    EXPECT_EQ(s->outcome, span_outcome::success);
  }
  EXPECT_EQ(number_of(call.attributes, "network.peer.port"), server_->port());
  EXPECT_EQ(number_of(attempt.attributes, "previous-rpc-attempts"), 0);
  ASSERT_TRUE(attempt.find("transparent-retry"));
  EXPECT_EQ(*attempt.find("transparent-retry"), attribute_value(false));
}

TEST_P(call_spans, TheOlderAttributesStandBesideTheNewOnesIfBothAreWanted) {
  trace_options options;
  options.conventions = rpc_conventions::both;
  restart(options);
  ASSERT_EQ(say("x"), status());
  const auto all = spans(3);
  for (const char* name : {"Sent.echo.Echo.Say", "Recv.echo.Echo.Say"}) {
    EXPECT_EQ(text_of(only(all, name), "rpc.system"), "grpc");
    EXPECT_EQ(text_of(only(all, name), "rpc.service"), "echo.Echo");
    EXPECT_EQ(number_of(only(all, name).attributes, "rpc.grpc.status_code"), 0);
  }
}

TEST_P(call_spans, MessagesAreEventsWithNumbersAndSizes) {
  run([](echo_stub s) -> task<> {
    auto chat = s.Chat();
    for (int i = 0; i < 2; ++i) {
      const echo::Text one = make_text("abc");
      EXPECT_EQ(co_await chat.write(one), status());
    }
    co_await chat.writes_done();
    for (echo::Text one; more(co_await chat.read(one));) {
    }
    EXPECT_EQ(co_await chat.finish(), status());
  }(stub()));
  const auto all = spans(3);
  const auto bytes = static_cast<std::int64_t>(make_text("abc").ByteSizeLong());
  for (const char* name : {"Attempt.echo.Echo.Chat", "Recv.echo.Echo.Chat"}) {
    const finished_span& s = only(all, name);
    for (const char* direction : {"Outbound message", "Inbound message"}) {
      std::int64_t number = 0;
      for (const span_event& e : s.events) {
        if (e.name != direction) continue;
        EXPECT_EQ(number_of(e.attributes, "sequence-number"), number++);
        EXPECT_EQ(number_of(e.attributes, "message-size"), bytes);
        EXPECT_GE(e.time, s.start);
        EXPECT_LE(e.time, s.end);
      }
      EXPECT_EQ(number, 2) << name << direction;
    }
  }
  EXPECT_THAT(event_names(only(all, "Sent.echo.Echo.Chat")), IsEmpty());
}

TEST_P(call_spans, CompressedMessagesHaveBothSizes) {
  call_options options;
  options.compression = compression(encoding::gzip);
  ASSERT_EQ(say(std::string(3000, 'a'), options), status());
  const auto all = spans(3);
  const finished_span& attempt = only(all, "Attempt.echo.Echo.Say");
  const finished_span& served = only(all, "Recv.echo.Echo.Say");
  EXPECT_THAT(event_names(attempt), IsSupersetOf({"Outbound message", "Outbound message compressed"}));
  EXPECT_THAT(event_names(served), IsSupersetOf({"Inbound compressed message", "Inbound message"}));
  for (const span_event& e : served.events) {
    if (e.name == "Inbound compressed message") {
      EXPECT_LT(number_of(e.attributes, "message-size-compressed"), 100);
    }
    if (e.name == "Inbound message") {
      EXPECT_GT(number_of(e.attributes, "message-size"), 3000);
    }
  }
}

TEST_P(call_spans, AnErrorHasItsCodeAndItsMessage) {
  ASSERT_EQ(sync_wait(stub().Misbehave(make_text("status"))).status().code(), status_code::not_found);
  const auto all = spans(3);
  for (const char* name :
       {"Sent.echo.Echo.Misbehave", "Attempt.echo.Echo.Misbehave", "Recv.echo.Echo.Misbehave"}) {
    const finished_span& s = only(all, name);
    EXPECT_EQ(s.outcome, span_outcome::error);
    EXPECT_EQ(s.description, "NOT_FOUND, no such name \xc3\xbc 100%");
    EXPECT_EQ(text_of(s, "error.type"), "NOT_FOUND");
    EXPECT_EQ(text_of(s, "rpc.status_code"), "NOT_FOUND");
  }
}

TEST_P(call_spans, TheStableConventionsBlameNoServerForItsClients) {
  trace_options options;
  options.conventions = rpc_conventions::stable;
  restart(options);
  ASSERT_EQ(sync_wait(stub().Misbehave(make_text("status"))).status().code(), status_code::not_found);
  ASSERT_EQ(sync_wait(stub().Misbehave(make_text("throw"))).status().code(), status_code::unknown);
  const auto all = spans(6);
  for (const finished_span* s : find_all(all, "Recv.echo.Echo.Misbehave")) {
    const bool fault = text_of(*s, "rpc.status_code") == "UNKNOWN";
    EXPECT_EQ(s->outcome, fault ? span_outcome::error : span_outcome::unset);
    EXPECT_EQ(s->find("error.type") != nullptr, fault);
  }
  for (const finished_span* s : find_all(all, "Sent.echo.Echo.Misbehave"))
    EXPECT_EQ(s->outcome, span_outcome::error);
}

TEST_P(call_spans, MethodsThatTheServerDoesNotHaveNameNoSpan) {
  generic_stub any(*channel_);
  const bytes_message request;
  EXPECT_EQ(sync_wait(any.unary("/invented.Service/ByAClient", request)).status().code(),
            status_code::unimplemented);
  const auto all = spans(3);
  const finished_span& served = only(all, "Recv._OTHER");
  EXPECT_EQ(text_of(served, "rpc.method"), "_OTHER");
  EXPECT_EQ(text_of(served, "rpc.method_original"), "/invented.Service/ByAClient");
  (void)only(all, "Sent.invented.Service.ByAClient");
}

TEST_P(call_spans, AFirstCallWaitsForItsConnection) {
  ASSERT_EQ(say("x"), status());
  ASSERT_EQ(say("x"), status());
  const auto all = spans(6);
  const auto attempts = find_all(all, "Attempt.echo.Echo.Say");
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(event_names(*attempts[0]).at(0), "Delayed LB pick complete");
  EXPECT_THAT(event_names(*attempts[1]), ElementsAre("Outbound message", "Inbound message"));
}

// Gives the address after a while.
class late_resolver final : public client::resolver {
 public:
  explicit late_resolver(net::address to) : to_(std::move(to)) {}
  task<> run(const client::target&, client::resolution_sink& to) override {
    co_await sleep_for(5ms);
    client::resolution r;
    r.add(to_);
    to.publish(std::move(r));
    while (true) co_await to.wait_until_requested();
  }

 private:
  net::address to_;
};

TEST_P(call_spans, ACallWaitsForNameResolution) {
  channel_options options;
  const net::address to = *net::address::parse(address_);
  options.add_resolver("late", [to](const client::target&) { return std::make_shared<late_resolver>(to); });
  channel_.emplace(rt(), "late:x", insecure(), options);
  ASSERT_EQ(say("x"), status());
  ASSERT_EQ(say("x"), status());
  const auto all = spans(6);
  const auto calls = find_all(all, "Sent.echo.Echo.Say");
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_THAT(event_names(*calls[0]), ElementsAre("Delayed name resolution complete"));
  EXPECT_THAT(event_names(*calls[1]), IsEmpty());
  EXPECT_EQ(text_of(*calls[0], "server.address"), "late:x");
  EXPECT_FALSE(calls[0]->find("server.port"));
}

TEST_P(call_spans, EachRetryIsAnAttemptWithTheNumberOfThoseBefore) {
  channel_options options;
  auto config = service_config::parse(
      R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":4,"initialBackoff":"0.001s",)"
      R"("maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]})");
  ASSERT_TRUE(config);
  options.service_config = *config;
  restart({}, options);
  handler_.failures = 2;
  ASSERT_EQ(sync_wait(stub().SayAtOnce(make_text("x"))).status(), status());
  const auto all = spans(7);
  const finished_span& call = only(all, "Sent.echo.Echo.SayAtOnce");
  EXPECT_EQ(call.outcome, span_outcome::success);
  const auto attempts = find_all(all, "Attempt.echo.Echo.SayAtOnce");
  ASSERT_EQ(attempts.size(), 3U);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    EXPECT_EQ(attempts[i]->parent, call.span);
    EXPECT_EQ(number_of(attempts[i]->attributes, "previous-rpc-attempts"), static_cast<std::int64_t>(i));
    EXPECT_EQ(attempts[i]->outcome, i < 2 ? span_outcome::error : span_outcome::success);
    std::size_t served = 0;
    for (const finished_span* s : find_all(all, "Recv.echo.Echo.SayAtOnce"))
      served += s->parent == attempts[i]->span ? 1 : 0;
    EXPECT_EQ(served, 1U);
  }
  EXPECT_EQ(attempts[0]->description, "UNAVAILABLE, not yet");
}

TEST_P(call_spans, HedgesAreAttemptsOfOneCall) {
  channel_options options;
  auto config = service_config::parse(
      R"({"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":3,"hedgingDelay":"0s"}}]})");
  ASSERT_TRUE(config);
  options.service_config = *config;
  restart({}, options);
  ASSERT_EQ(say("x"), status());
  const auto all = spans(4);
  const finished_span& call = only(all, "Sent.echo.Echo.Say");
  const auto attempts = find_all(all, "Attempt.echo.Echo.Say");
  EXPECT_GT(attempts.size(), 1U);
  for (const finished_span* a : attempts) EXPECT_EQ(a->parent, call.span);
}

}  // namespace
}  // namespace coracle::testing_support::call_spans_test
