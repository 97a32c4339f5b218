// Many cancellations, as a server with limits on resets and the neighbours of the cancelled calls observe
// them.
#include "unit/client/attempts_fixture.hpp"

#include "coracle/coro/scope.hpp"

#include <gmock/gmock.h>

namespace coracle::testing_support::cancellations_test {
namespace {

using ::testing::HasSubstr;

class cancellations : public attempts_fixture {
 protected:
  // Begins calls and cancels them at once.
  static task<> burst(const channel& to, int calls) {
    const text request = text_of("x");
    for (int i = 0; i < calls; ++i) {
      stream_call call(to, "/scripted.Service/Method", call_options());
      (void)co_await call.write(request);
    }
  }
  static task<> ask(const channel& to, answer* into) { *into = co_await say_through(to, "x", {}); }
  // The result of a call that is in progress during the bursts.
  answer neighbour(int bursts, int calls) {
    const auto all = [](const channel& to, answer* into, int n, int each, scripted_server* server) -> task<> {
      scope work{co_await coro::this_environment()};
      work.spawn(ask(to, into));
      co_await sleep_for(10ms);
      for (int i = 0; i < n; ++i) {
        task<> one = burst(to, each);
        co_await std::move(one);
        co_await sleep_for(2ms);
      }
      co_await sleep_for(5s);
      server->requests.front()->reply("well");
      co_await work.join();
    };
    answer a;
    run(all(calls_, &a, bursts, calls, &server_));
    return a;
  }
};

TEST_F(cancellations, InBurstsDoNotEndTheConnection) {
  EXPECT_EQ(neighbour(10, 150).outcome, status());
  EXPECT_EQ(server_.connections(), 1u);
  EXPECT_GT(server_.requests.size(), 1000u);
  for (std::size_t i = 1; i < server_.requests.size(); ++i) ASSERT_TRUE(server_.requests[i]->cancelled) << i;
}

TEST_F(cancellations, OfHedgesDoNotEndTheConnection) {
  hedge(5, 0ms);
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  const auto all = [](const channel& to) -> task<> {
    std::vector<answer> answers(200);
    scope work{co_await coro::this_environment()};
    for (answer& a : answers) work.spawn(ask(to, &a));
    co_await work.join();
    for (const answer& a : answers) EXPECT_EQ(a.outcome, status());
  };
  run(all(calls_));
  EXPECT_EQ(server_.connections(), 1u);
}

TEST_F(cancellations, AreFewerAfterAServerHasClosedAConnectionBecauseOfThem) {
  server_.limits.early_resets_burst = 12;
  const status first = neighbour(1, 150).outcome;
  EXPECT_EQ(first.code(), status_code::unavailable);
  EXPECT_THAT(std::string(first.message()),
              HasSubstr("GOAWAY ENHANCE_YOUR_CALM streams that are reset when opened exceed"));
  server_.requests.clear();
  EXPECT_EQ(neighbour(1, 150).outcome, status());
}

TEST_F(cancellations, ACallThatWasNotProcessedIsTriedAgainAfterThem) {
  server_.limits.early_resets_burst = 12;
  const auto all = [](const channel& to, answer* into) -> task<> {
    task<> first = burst(to, 20);
    co_await std::move(first);
    *into = co_await say_through(to, "x", {});
  };
  server_.script = [](scripted_request& r) {
    r.when_complete = [](scripted_request& c) { c.reply("well"); };
  };
  answer a;
  run(all(calls_, &a));
  EXPECT_EQ(a.outcome, status());
}

TEST_F(cancellations, TheReasonOfAGoawayIsInTheStatus) {
  server_.script = [](scripted_request&) {};
  const auto ask_and_lose = [](const channel& to, scripted_server* server, answer* into) -> task<> {
    scope work{co_await coro::this_environment()};
    work.spawn(ask(to, into));
    co_await sleep_for(10ms);
    server->disconnect();
    co_await work.join();
  };
  answer a;
  run(ask_and_lose(calls_, &server_, &a));
  EXPECT_EQ(a.outcome,
            status::unavailable("GOAWAY INTERNAL_ERROR as scripted, then the peer closed the connection"));
}

}  // namespace
}  // namespace coracle::testing_support::cancellations_test
