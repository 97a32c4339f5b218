// How calls end early: deadlines, cancellation, lost connections, drains.
#include "support/echo_fixture.hpp"

namespace coracle::testing_support::ending_test {
namespace {

using namespace std::chrono_literals;

class ending : public echo_fixture {
 protected:
  // A call whose handler waits until it is stopped.
  static task<> hang(echo_stub s, status& out) {
    const echo::Text request = text("hang");
    const auto reply = co_await s.Misbehave(request);
    out = reply.status();
  }
  // Until the waiting handler was stopped.
  task<> wait_for_stopped(int n) {
    while (service_.stopped < n) co_await sleep_for(1ms);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, ending, every_world_and_link, echo_fixture::case_name);

TEST_P(ending, ADeadlineEndsTheCallOnBothSides) {
  const auto reply = sync_wait(stub().Misbehave(text("hang"), within(30ms)));
  EXPECT_EQ(reply.status().code(), status_code::deadline_exceeded) << reply.status();
  run(wait_for_stopped(1));
}

TEST_P(ending, ADeadlineThatHasPassedSendsNothing) {
  EXPECT_EQ(sync_wait(stub().Say(text(""), within(0ms))).status().code(), status_code::deadline_exceeded);
  EXPECT_EQ(sync_wait(stub().Say(text(""), within(-1ms))).status().code(), status_code::deadline_exceeded);
}

TEST_P(ending, TheServerLearnsTheDeadline) {
  const auto reply = sync_wait(stub().Misbehave(text("deadline"), within(10s)));
  ASSERT_EQ(reply.status(), status());
  EXPECT_GT(reply->count(), 5'000);
  EXPECT_LE(reply->count(), 10'000);
  EXPECT_EQ(sync_wait(stub().Misbehave(text("deadline")))->count(), -1);
}

TEST_P(ending, ATimeoutAroundTheCallIsItsDeadline) {
  struct program {
    static task<result<echo::Text>> call(echo_stub s) {
      const echo::Text request = text("hang");
      co_return co_await s.Misbehave(request);
    }
    static task<status> limited(echo_stub s) {
      auto inner = call(s);
      with_timeout<result<echo::Text>> outer(30ms, std::move(inner));
      const auto outcome = co_await outer;
      co_return outcome.status();
    }
  };
  EXPECT_EQ(run(program::limited(stub())).code(), status_code::deadline_exceeded);
  run(wait_for_stopped(1));
}

TEST_P(ending, StoppingTheCallerStopsTheHandler) {
  struct program {
    static task<status> stop(echo_stub s) {
      status out;
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, out));
      co_await sleep_for(20ms);
      work.request_stop();
      co_await work.join();
      co_return out;
    }
  };
  EXPECT_EQ(run(program::stop(stub())).code(), status_code::cancelled);
  run(wait_for_stopped(1));
}

TEST_P(ending, DeadlineAndCancellationPassThroughARelayUnmentioned) {
  service_.next = &*channel_;
  const auto shown = sync_wait(stub().Misbehave(text("relay deadline"), within(10s)));
  ASSERT_EQ(shown.status(), status());
  EXPECT_GT(shown->count(), 5'000);
  EXPECT_LE(shown->count(), 10'000);

  const auto reply = sync_wait(stub().Misbehave(text("relay"), within(50ms)));
  EXPECT_EQ(reply.status().code(), status_code::deadline_exceeded);
  run(wait_for_stopped(1));
}

TEST_P(ending, ADrainLetsRunningCallsEnd) {
  struct program {
    static task<> call(echo_stub s, int& done) {
      auto chat = s.Chat();
      const echo::Text one = text("ball");
      (co_await chat.write(one)).throw_if_error();
      const auto first = (co_await chat.next()).value();
      co_await sleep_for(50ms);  // the drain begins meanwhile
      (co_await chat.write(one)).throw_if_error();
      const auto second = (co_await chat.next()).value();
      const status end = co_await chat.finish();
      EXPECT_TRUE(first && second && end.ok());
      ++done;
    }
    static task<int> drain(echo_stub s, server& srv) {
      int done = 0;
      scope work{co_await coro::this_environment()};
      work.spawn(call(s, done));
      co_await sleep_for(20ms);
      co_await srv.drain(10s);
      co_await work.join();
      co_return done;
    }
  };
  EXPECT_EQ(run(program::drain(stub(), *server_)), 1);
  EXPECT_EQ(sync_wait(stub().Say(text(""))).status().code(), status_code::unavailable);
}

TEST_P(ending, ADrainStopsCallsWhenItsGraceIsOver) {
  struct program {
    static task<status> drain(echo_stub s, server& srv) {
      status out;
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, out));
      co_await sleep_for(20ms);
      co_await srv.drain(20ms);
      co_await work.join();
      co_return out;
    }
  };
  EXPECT_EQ(run(program::drain(stub(), *server_)).code(), status_code::unavailable);
  EXPECT_EQ(service_.stopped, 1);
}

TEST_P(ending, ClosingTheChannelEndsItsCalls) {
  struct program {
    static task<status> close(echo_stub s, channel c) {
      status out;
      scope work{co_await coro::this_environment()};
      work.spawn(hang(s, out));
      co_await sleep_for(20ms);
      c.close();
      co_await work.join();
      co_return out;
    }
  };
  EXPECT_EQ(run(program::close(stub(), *channel_)).code(), status_code::unavailable);
  run(wait_for_stopped(1));
}

TEST_P(ending, DestroyingTheServerStopsItsHandlersAndEndsTheCalls) {
  struct program {
    static task<> begin(echo_stub s, scope& work, status& out) {
      work.spawn(hang(s, out));
      co_await sleep_for(20ms);
    }
    static task<> end(scope& work) { co_await work.join(); }
  };
  status out;
  scope work;
  run(program::begin(stub(), work, out));
  server_.reset();
  run(program::end(work));
  EXPECT_EQ(out.code(), status_code::unavailable) << out;
  EXPECT_EQ(service_.stopped, 1);
}

}  // namespace
}  // namespace coracle::testing_support::ending_test
