// Reads and writes of a call that race a timer: whoever loses has taken nothing, and the call goes on.
#include "support/echo_fixture.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/timeout.hpp"
#include "coracle/coro/when_any.hpp"

namespace coracle::testing_support {
namespace {

using namespace std::chrono_literals;

class races : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, races, every_world_and_link, echo_fixture::case_name);

constexpr int messages = 2'000;

echo::Text ball(int number) {
  echo::Text m;
  m.set_count(number);
  return m;
}

using chat = bidi_call<echo::Text, echo::Text>;

task<> say_all(chat& call) {
  for (int i = 0; i < messages; ++i) {
    const echo::Text one = ball(i);
    co_await call.write(one);
    co_await sleep_for(std::chrono::microseconds(i % 7 * 10));  // sleeps on purpose: so that readers wait
  }
  co_await call.writes_done();
}

struct tally {
  int read = 0;
  int lost = 0;
  bool in_order = true;
};

// Races each read against a timer, whose time varies, until the stream has ended.
task<> race_all(chat& call, tally& t) {
  for (int i = 0;; ++i) {
    auto first =
        co_await when_any_settled(call.next_result(), sleep_for(std::chrono::microseconds(i % 11 * 8)));
    const result<std::optional<echo::Text>> got = first.get<0>();
    if (!got.ok()) {
      EXPECT_EQ(got.status().code(), status_code::cancelled) << got.status();
      if (got.status().code() != status_code::cancelled) co_return;
      ++t.lost;
    } else if (*got) {
      t.in_order = t.in_order && (*got)->count() == t.read;
      ++t.read;
    } else {
      co_return;
    }
  }
}

TEST_P(races, ANextThatLosesHasTakenNoMessage) {
  struct program {
    static task<status> talk(echo_stub s, tally& t) {
      auto call = s.Chat();
      scope both{co_await coro::this_environment()};
      both.spawn(say_all(call));
      both.spawn(race_all(call, t));
      co_await both.join();
      co_return co_await call.finish();
    }
  };
  tally t;
  EXPECT_EQ(run(program::talk(stub(), t)), status());
  EXPECT_EQ(t.read, messages);
  EXPECT_TRUE(t.in_order);
  EXPECT_GT(t.lost, 0);
}

// Nothing comes: without an end of the wait of its own, the race would last as long as the call.
TEST_P(races, ANextMayLoseBeforeAndAfterTheCallHasBegun) {
  struct program {
    static task<status> talk(echo_stub s) {
      auto call = s.Chat();
      const echo::Text one = ball(1);
      co_await call.write(one);
      const auto back = co_await call.next();
      EXPECT_TRUE(back);
      const auto first = co_await when_any_settled(call.next_result(), sleep_for(1ms));
      EXPECT_EQ(first.index(), 1u);
      const auto late = co_await timeout(1ms, call.next_result());
      EXPECT_EQ(late.status().code(), status_code::cancelled);
      co_await call.write(one);
      const auto again = co_await call.next();
      EXPECT_TRUE(again && again->count() == 1);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::talk(stub())), status());
}

TEST_P(races, AStopOfTheScopeEndsAReadAndTheCallGoesOn) {
  struct program {
    static task<> read(chat& call, status& outcome) {
      const auto got = co_await call.next_result();
      outcome = got.status();
    }
    static task<status> talk(echo_stub s, status& outcome) {
      auto call = s.Chat();
      const echo::Text one = ball(1);
      co_await call.write(one);
      const auto back = co_await call.next();
      EXPECT_TRUE(back);
      scope readers{co_await coro::this_environment()};
      readers.spawn(read(call, outcome));
      readers.request_stop();
      co_await readers.join();
      co_await call.write(one);
      const auto again = co_await call.next();
      EXPECT_TRUE(again);
      co_return co_await call.finish();
    }
  };
  status outcome;
  EXPECT_EQ(run(program::talk(stub(), outcome)), status());
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}

}  // namespace
}  // namespace coracle::testing_support
