// Handlers that return senders.
#include "observer.hpp"
#include "support/echo_fixture.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace coracle::testing_support::handler_sender_test {
namespace {

using namespace std::chrono_literals;

task<result<echo::Text>> fail_with(status s) { co_return s; }

class sending_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    return as_reply(ex::just() | ex::then([&] { return request; }));
  }
  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    if (request.text() == "status") {
      return as_reply(ex::just(request) | ex::let_value([](echo::Text&) {
                        return as_sender(fail_with(status::not_found("from a sender")));
                      }));
    }
    if (request.text() == "throw")
      return as_reply(ex::just(request) |
                      ex::then([](const echo::Text&) -> echo::Text { throw std::runtime_error("secret"); }));
    if (request.text() == "hang")
      return as_reply(loop_scheduler(*loop::current()).schedule_after(24h) |
                      ex::then([&] { return request; }) | ex::upon_stopped([this] {
                        ++stopped;
                        return echo::Text();
                      }));
    // Calls that a sender makes inherit the deadline of the handler.
    if (request.text() == "relay deadline") {
      echo::Text question;
      question.set_text("deadline");
      return as_reply(as_sender(echo_stub(*next).Misbehave(std::move(question))));
    }
    return echo_service::Misbehave(context, request);
  }
  replies<echo::Text> Repeat(server_context&, const echo::Text& request) override {
    return as_replies<echo::Text>([&request](writer<echo::Text> out) {
      return as_sender(out.write(request)) |
             ex::let_value([&request, out]() mutable { return as_sender(out.write(request)); });
    });
  }
};

class sender_handlers : public echo_fixture {
 protected:
  service& served() noexcept override { return sending_; }
  sending_service sending_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, sender_handlers, every_world_over_tcp, echo_fixture::case_name);

TEST_P(sender_handlers, TheValueIsTheReply) {
  auto body = [](echo_stub s) -> task<> {
    const auto reply = co_await s.Say(text("hello"));
    EXPECT_EQ(reply.value().text(), "hello");
  };
  run(body(stub()));
}

TEST_P(sender_handlers, AStatusIsThatOfTheCallAndAnExceptionIsUnknown) {
  auto body = [](echo_stub s) -> task<> {
    const auto failed = co_await s.Misbehave(text("status"));
    EXPECT_EQ(failed.status(), status::not_found("from a sender"));
    const auto threw = co_await s.Misbehave(text("throw"));
    EXPECT_EQ(threw.status().code(), status_code::unknown);
    EXPECT_EQ(threw.status().message().find("secret"), std::string_view::npos);
  };
  run(body(stub()));
}

TEST_P(sender_handlers, TheEndOfTheCallStopsTheSender) {
  auto body = [](echo_stub s, sending_service& service) -> task<> {
    const auto late = co_await s.Misbehave(text("hang"), within(5ms));
    EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
    while (service.stopped == 0) co_await sleep_for(1ms);
  };
  run(body(stub(), sending_));
}

TEST_P(sender_handlers, TheirCallsInheritTheDeadline) {
  sending_.next = &*channel_;
  auto body = [](echo_stub s) -> task<int> {
    const auto reply = co_await s.Misbehave(text("relay deadline"), within(100s));
    co_return reply.value().count();
  };
  const int left_ms = run(body(stub()));
  EXPECT_GT(left_ms, 10'000);
  EXPECT_LE(left_ms, 100'000);
}

TEST_P(sender_handlers, AWriterSendsFromASender) {
  auto body = [](echo_stub s) -> task<> {
    auto call = s.Repeat(text("twice"));
    for (int i = 0; i < 2; ++i) {
      const auto one = co_await call.next();
      EXPECT_EQ(one.value().value().text(), "twice");
    }
    const auto end = co_await call.next();
    EXPECT_FALSE(end.value());
  };
  run(body(stub()));
}

}  // namespace
}  // namespace coracle::testing_support::handler_sender_test
