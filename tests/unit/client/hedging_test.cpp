// Hedging (gRFC A6), as a call and its server observe it.
#include "unit/client/attempts_fixture.hpp"

namespace coracle::testing_support::hedging_test {
namespace {

class hedging : public attempts_fixture {
 protected:
  [[nodiscard]] std::int64_t received_ms(std::size_t i) const { return ms(server_.requests[i]->received_at); }
  [[nodiscard]] std::int64_t distance_ms(std::size_t i) const { return received_ms(i) - received_ms(i - 1); }
  // Lets the cancellations arrive.
  void settle() { world_.run_for(1s); }
};

TEST_F(hedging, SendsTheNextAttemptAtEachDelayAndNamesIt) {
  hedge(3, 50ms);
  const answer a = say("x", within(1s));
  EXPECT_EQ(a.outcome.code(), status_code::deadline_exceeded);
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(distance_ms(1), 50);
  EXPECT_EQ(distance_ms(2), 50);
  EXPECT_EQ(server_.requests[0]->field("grpc-previous-rpc-attempts"), "");
  EXPECT_EQ(server_.requests[2]->field("grpc-previous-rpc-attempts"), "2");
  settle();
  for (const auto& r : server_.requests) EXPECT_TRUE(r->cancelled);
}

TEST_F(hedging, WithoutADelaySendsAllAtOnce) {
  hedge(3, 0ms);
  say("x", within(1s));
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(distance_ms(1), 0);
  EXPECT_EQ(distance_ms(2), 0);
}

TEST_F(hedging, TakesTheFirstAnswerAndCancelsTheOthers) {
  hedge(3, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "2") r.reply("second");
  };
  const answer a = say("x");
  EXPECT_EQ(a.text, "second");
  EXPECT_EQ(a.attempt, "2");
  settle();
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_TRUE(server_.requests[0]->cancelled);
  EXPECT_FALSE(server_.requests[1]->cancelled);
}

TEST_F(hedging, IsOverWhenAHeadHasComeThoughItsMessageIsLate) {
  hedge(4, 50ms);
  server_.script = [](scripted_request& r) { r.send_headers(); };
  EXPECT_EQ(say("x", within(1s)).outcome.code(), status_code::deadline_exceeded);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(hedging, GoesOnAtOnceAfterANonFatalEndAndKeepsItsDistanceFromThere) {
  hedge(4, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") r.fail(status_code::unavailable);
  };
  say("x", within(1s));
  ASSERT_EQ(server_.requests.size(), 4u);
  EXPECT_LE(distance_ms(1), 1);
  EXPECT_EQ(distance_ms(2), 50);
  EXPECT_EQ(distance_ms(3), 50);
}

TEST_F(hedging, EndsWithAFatalStatusAndCancelsTheOthers) {
  hedge(3, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "2") r.fail(status_code::permission_denied);
  };
  EXPECT_EQ(say("x").outcome.code(), status_code::permission_denied);
  settle();
  EXPECT_EQ(server_.requests.size(), 2u);
  EXPECT_TRUE(server_.requests[0]->cancelled);
}

TEST_F(hedging, GivesTheLastStatusWhenAllHaveFailed) {
  hedge(3, 50ms);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  const answer a = say("x");
  EXPECT_EQ(a.outcome.code(), status_code::unavailable);
  EXPECT_EQ(a.trailer, "3");
  EXPECT_EQ(server_.requests.size(), 3u);
}

TEST_F(hedging, WaitsForTheSlowAttemptWhenTheFastHaveFailed) {
  hedge(3, 10ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") != "1") r.fail(status_code::unavailable);
  };
  struct program {
    static task<answer> slow(configured_channel& to, scripted_server& s) {
      scope work{co_await coro::this_environment()};
      answer a;
      struct keep {
        static task<> it(configured_channel& through, answer& into) {
          into = co_await say_through(through, "x", call_options());
        }
      };
      work.spawn(keep::it(to, a));
      co_await sleep_for(1s);
      s.requests[0]->reply("slow");
      co_await work.join();
      co_return a;
    }
  };
  EXPECT_EQ(run(program::slow(calls_, server_)).text, "slow");
  EXPECT_EQ(server_.requests.size(), 3u);
}

TEST_F(hedging, WaitsAsLongAsTheServerSays) {
  hedge(3, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "1") r.fail(status_code::unavailable, "2000");
  };
  say("x", within(5s));
  ASSERT_EQ(server_.requests.size(), 3u);
  EXPECT_EQ(distance_ms(1), 2000);
  EXPECT_EQ(distance_ms(2), 50);
}

TEST_F(hedging, SendsNoMoreWhenTheServerSaysSo) {
  hedge(4, 50ms);
  server_.script = [](scripted_request& r) {
    if (r.field("x-number") == "2") r.fail(status_code::unavailable, "-1");
  };
  EXPECT_EQ(say("x", within(1s)).outcome.code(), status_code::deadline_exceeded);
  EXPECT_EQ(server_.requests.size(), 2u);
}

TEST_F(hedging, IsThrottledButNotItsFirstAttempt) {
  hedge(3, 10ms);
  calls_.config.throttle = std::make_shared<client::retry_throttle>(4, 1000);
  server_.script = [](scripted_request& r) { r.fail(status_code::unavailable); };
  EXPECT_EQ(say("x").outcome.code(), status_code::unavailable);
  EXPECT_EQ(server_.requests.size(), 2u);  // 4 tokens, 3, 2: the half
  say("x", within(1s));
  EXPECT_EQ(server_.requests.size(), 3u);
}

TEST_F(hedging, SurvivesTheLossOfTheConnectionOfAllItsAttempts) {
  hedge(5, 10ms);
  server_.script = [this](scripted_request& r) {
    if (r.field("x-number") == "3") server_.disconnect();
    if (r.field("x-number") == "4") r.reply("on a new connection");
  };
  EXPECT_EQ(say("x").text, "on a new connection");
}

TEST_F(hedging, SendsTheWholeRequestEachTime) {
  hedge(3, 10ms);
  const std::string large(200'000, 'z');
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) {
      if (c.field("x-number") == "3") c.reply(std::to_string(c.body.size()));
    };
  };
  EXPECT_GT(std::stoi(say(large).text), 200'000);
  EXPECT_EQ(server_.requests[0]->body, server_.requests[2]->body);
}

}  // namespace
}  // namespace coracle::testing_support::hedging_test
