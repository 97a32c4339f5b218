// Retries (gRFC A6), as a call and its server observe them.
#include "support/borrowed.hpp"
#include "unit/client/attempts_fixture.hpp"

#include "coracle/client/client_interceptor.hpp"

namespace coracle::testing_support::retry_test {
namespace {

class retrying : public attempts_fixture {};

TEST_F(retrying, CallFailsAsManyTimesAsItsPolicySaysAndNamesTheAttempt) {
  retry(4);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  const answer a = say("x");
  EXPECT_EQ(a.outcome, status::unavailable("as scripted"));
  EXPECT_EQ(a.trailer, "4");
  ASSERT_EQ(server_.requests.size(), 4u);
  EXPECT_EQ(server_.requests[0]->field("grpc-previous-rpc-attempts"), "");
  for (int i = 1; i < 4; ++i)
    EXPECT_EQ(server_.requests[i]->field("grpc-previous-rpc-attempts"), std::to_string(i));
}

TEST_F(retrying, CallPausesLongerEachTimeWithinAFifthOfJitter) {
  retry(5);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  say("x");
  ASSERT_EQ(server_.requests.size(), 5u);
  const double pauses[] = {100, 200, 400, 800};
  for (int i = 0; i < 4; ++i) {
    const auto pause =
        static_cast<double>(ms(server_.requests[i + 1]->received_at) - ms(server_.requests[i]->received_at));
    EXPECT_GE(pause, 0.8 * pauses[i] - 1);
    EXPECT_LE(pause, 1.2 * pauses[i] + 1);
  }
}

TEST_F(retrying, CallSendsItsRequestWithEachAttempt) {
  retry(3);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) {
      if (c.field("x-number") == "3") c.reply("third");
      else c.fail(status_code::unavailable);
    };
  };
  const answer a = say("the request");
  EXPECT_EQ(a.outcome, status());
  EXPECT_EQ(a.text, "third");
  EXPECT_EQ(a.attempt, "3");
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(server_.requests[0]->body, server_.requests[2]->body);
  EXPECT_NE(server_.requests[2]->body.find("the request"), std::string::npos);
}

TEST_F(retrying, CallEndsWithAStatusThatIsNotRetryable) {
  retry(4);
  server_.script = [](scripted_request& r) { r.fail(status_code::internal); };
  EXPECT_EQ(say("x").outcome.code(), status_code::internal);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(retrying, CallIsCommittedByTheHeadOfAResponse) {
  retry(4);
  server_.script = [](scripted_request& r) {
    r.send_headers();
    r.end(status_code::unavailable);
  };
  EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(retrying, CallWaitsAsLongAsTheServerSays) {
  retry(2);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable, "7000"); };
  say("x");
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_NEAR(
      static_cast<double>(ms(server_.requests[1]->received_at) - ms(server_.requests[0]->received_at)), 7000,
      1);
}

TEST_F(retrying, CallIsNotMadeAgainWhenTheServerSaysSo) {
  retry(4);
  for (const char* pushback : {"-1", "soon", "99999999999999", "1.5", " "}) {
    server_.requests.clear();
    server_.script = [=](scripted_request& r) { r.fail(status_code::unavailable, pushback); };
    EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
    EXPECT_EQ(server_.requests.size(), 1u) << pushback;
  }
}

TEST_F(retrying, CallIsMadeAgainAfterAnHttpErrorOfAProxy) {
  retry(2);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") r.answer_http("503");
    else r.reply("second");
  };
  EXPECT_EQ(say("x").text, "second");
}

TEST_F(retrying, CallIsMadeAgainAfterALostConnection) {
  retry(2);
  server_.script = [this](scripted_request& r) {
    if (r.field("x-number") == "1") server_.disconnect();
    else r.reply("second");
  };
  EXPECT_EQ(say("x").text, "second");
}

TEST_F(retrying, CallIsMadeAgainWhenNoConnectionCanBeMade) {
  retry(3);
  server_.reachable = false;
  const answer a = say("x");
  EXPECT_EQ(a.outcome.code(), status_code::unavailable);
  EXPECT_NE(a.outcome.message().find("scripted to be away"), std::string_view::npos);
  EXPECT_GE(ms(a.ended), 240);  // two pauses at least
}

TEST_F(retrying, CallEndsAtItsDeadlineInAPause) {
  retry(4);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable, "60000"); };
  const answer a = say("x", within(2s));
  EXPECT_EQ(a.outcome.code(), status_code::deadline_exceeded);
  EXPECT_NEAR(static_cast<double>(ms(a.ended)), 2000, 1);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(retrying, CallTellsEachAttemptTheTimeThatIsLeft) {
  retry(2);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable, "1500"); };
  say("x", within(2s));
  ASSERT_EQ(server_.requests.size(), 2u);
  const auto timeout_us = [](const scripted_request& r) { return std::stoll(r.field("grpc-timeout")); };
  EXPECT_EQ(server_.requests[0]->field("grpc-timeout").back(),
            server_.requests[1]->field("grpc-timeout").back());
  EXPECT_LT(timeout_us(*server_.requests[1]) * 3, timeout_us(*server_.requests[0]));
}

TEST_F(retrying, CallThatIsStoppedInAPauseEndsAtOnce) {
  retry(4);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable, "60000"); };
  struct program {
    static task<answer> stop_soon(configured_channel& to) {
      scope work{co_await coro::this_environment()};
      answer a;
      struct keep {
        static task<> it(configured_channel& through, answer& into) {
          into = co_await say_through(through, "x", call_options());
        }
      };
      work.spawn(keep::it(to, a));
      co_await sleep_for(1s);
      work.request_stop();
      co_await work.join();
      co_return a;
    }
  };
  const answer a = run(program::stop_soon(calls_));
  EXPECT_EQ(a.outcome.code(), status_code::cancelled);
  EXPECT_NEAR(static_cast<double>(ms(a.ended)), 1000, 1);
}

TEST_F(retrying, CallEndsWhenItsChannelIsGoneAtTheEndOfAPause) {
  retry(4);
  server_.script = [this](scripted_request& r) {
    r.fail(status_code::unavailable, "5000");
    channel_->close();
  };
  const answer a = say("x");
  EXPECT_EQ(a.outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(retrying, CallsAreThrottledTogether) {
  retry(5);
  calls_.config.throttle = std::make_shared<client::retry_throttle>(10, 100);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  // Five failures halve ten tokens: the fifth failure of the first call, and the first failure of any other.
  say("x");
  EXPECT_EQ(server_.requests.size(), 5u);
  say("x");
  EXPECT_EQ(server_.requests.size(), 6u);
  // Each success adds a tenth of a token.
  server_.script = [](scripted_request& r) { r.reply("well"); };
  for (int i = 0; i < 31; ++i) EXPECT_EQ(say("x").outcome, status());
  const std::size_t before = server_.requests.size();
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  say("x");
  EXPECT_EQ(server_.requests.size(), before + 3);  // 6.1 and 5.1 are above the half, 4.1 is not
}

TEST_F(retrying, CallWithATooLargeRequestIsCommittedToItsFirstAttempt) {
  retry(4);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.fail(status_code::unavailable); };
  };
  EXPECT_EQ(say(std::string(client::replay_bytes_max + 1, 'x')).outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
  EXPECT_EQ(say(std::string(client::replay_bytes_max - 100, 'x')).outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 5u);
}

TEST_F(retrying, CallWithoutAPolicyIsMadeOnce) {
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(retrying, ConfigurationsTimeoutHoldsWhereTheCallersIsLonger) {
  calls_.config.timeout = 1s;
  const answer a = say("x", within(5s));
  EXPECT_EQ(a.outcome.code(), status_code::deadline_exceeded);
  EXPECT_NEAR(static_cast<double>(ms(a.ended)), 1000, 1);
  const answer b = say("x", within(500ms));
  EXPECT_NEAR(static_cast<double>(ms(b.ended) - ms(a.ended)), 500, 1);
}

TEST_F(retrying, ConfigurationsLimitsBoundRequestsAndReplies) {
  calls_.config.max_request_bytes = 100;
  calls_.config.max_response_bytes = 100;
  server_.script = [](scripted_request& r) { r.reply(std::string(200, 'y')); };
  EXPECT_EQ(say(std::string(200, 'x')).outcome.code(), status_code::resource_exhausted);
  EXPECT_EQ(say("x").outcome.code(), status_code::resource_exhausted);
  // A caller may request less, but not more.
  call_options limited;
  limited.max_receive_bytes = 1000;
  EXPECT_EQ(say("x", limited).outcome.code(), status_code::resource_exhausted);
  calls_.config.max_response_bytes = 1000;
  EXPECT_EQ(say("x").outcome, status());
  call_options limited_2;
  limited_2.max_receive_bytes = 100;
  EXPECT_EQ(say("x", limited_2).outcome.code(), status_code::resource_exhausted);
}

TEST_F(retrying, ConfigurationLetsCallsWaitForAConnection) {
  calls_.config.wait_for_ready = true;
  server_.reachable = false;
  EXPECT_EQ(say("x", within(3s)).outcome.code(), status_code::deadline_exceeded);
  call_options waiting;
  waiting.wait_for_ready = false;
  EXPECT_EQ(say("x", waiting).outcome.code(), status_code::unavailable);
  server_.reachable = true;
  server_.script = [](scripted_request& r) { r.reply("at last"); };
  EXPECT_EQ(say("x").text, "at last");
}

TEST_F(retrying, CallThatCannotSendItsMessageMakesNoAttempt) {
  retry(3);
  class late final : public client_interceptor {
    task<status> intercept(client_context&, next_call next) override {
      co_await sleep_for(10ms);  // the message is there by then
      const status s = co_await next();
      co_await sleep_for(10ms);  // the call's end waits for this
      co_return s;
    }
  };
  late front;
  const channel through = calls_.with_interceptors({borrowed(front)});
  struct program {
    static task<status> talk(const channel& to) {
      call_options limited;
      limited.max_send_bytes = 100;
      stream_call call(to, "/s/m", limited);
      const text m = text_of(std::string(200, '.'));
      const status sent = co_await call.write(m);
      EXPECT_EQ(sent.code(), status_code::resource_exhausted);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::talk(through)).code(), status_code::resource_exhausted);
  world_.run_for(1s);
  EXPECT_EQ(server_.requests.size(), 0u);
}

}  // namespace
}  // namespace coracle::testing_support::retry_test
