// Reads and writes of a call that race a timer or are stopped individually: a read that loses has taken
// nothing, a write that loses reports whether its message is being sent, and the call continues.
#include "support/echo_fixture.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"

#include <string>
#include <vector>

namespace coracle::testing_support::race_test {
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
    (co_await call.write(one)).throw_if_error();
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
    auto first = co_await when_any_settled(call.next(), sleep_for(std::chrono::microseconds(i % 11 * 8)));
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

// Nothing arrives: without a separate end of the wait, the race would last as long as the call.
TEST_P(races, ANextMayLoseBeforeAndAfterTheCallHasBegun) {
  struct program {
    static task<status> talk(echo_stub s) {
      auto call = s.Chat();
      const echo::Text one = ball(1);
      (co_await call.write(one)).throw_if_error();
      const auto back = (co_await call.next()).value();
      EXPECT_TRUE(back);
      const auto first = co_await when_any_settled(call.next(), sleep_for(1ms));
      EXPECT_EQ(first.index(), 1u);
      const auto late = co_await with_timeout(1ms, call.next());
      EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
      (co_await call.write(one)).throw_if_error();
      const auto again = (co_await call.next()).value();
      EXPECT_TRUE(again && again->count() == 1);
      co_return co_await call.finish();
    }
  };
  EXPECT_EQ(run(program::talk(stub())), status());
}

TEST_P(races, AStopOfTheScopeEndsAReadAndTheCallGoesOn) {
  struct program {
    static task<> read(chat& call, status& outcome) {
      const auto got = co_await call.next();
      outcome = got.status();
    }
    static task<status> talk(echo_stub s, status& outcome) {
      auto call = s.Chat();
      const echo::Text one = ball(1);
      (co_await call.write(one)).throw_if_error();
      const auto back = (co_await call.next()).value();
      EXPECT_TRUE(back);
      scope readers{co_await coro::this_environment()};
      readers.spawn(read(call, outcome));
      readers.request_stop();
      co_await readers.join();
      (co_await call.write(one)).throw_if_error();
      const auto again = (co_await call.next()).value();
      EXPECT_TRUE(again);
      co_return co_await call.finish();
    }
  };
  status outcome;
  EXPECT_EQ(run(program::talk(stub(), outcome)), status());
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}

TEST_P(races, AStopEndsAWriteThatHasNotBegunAndItsMessageIsNeverSent) {
  struct program {
    static task<> write(chat& call, status& outcome) {
      const echo::Text stopped = ball(1);
      outcome = co_await call.write(stopped);
    }
    static task<status> talk(echo_stub s, status& outcome) {
      auto call = s.Chat();
      co_await call.start();
      scope writers{co_await coro::this_environment()};
      writers.spawn(write(call, outcome));  // waits: the channel is not connected yet
      writers.request_stop();
      co_await writers.join();
      const echo::Text next = ball(2);
      (co_await call.write(next)).throw_if_error();
      const auto back = (co_await call.next()).value();
      EXPECT_TRUE(back && back->count() == 2);
      co_return co_await call.finish();
    }
  };
  status outcome;
  EXPECT_EQ(run(program::talk(stub(), outcome)), status());
  EXPECT_EQ(outcome.code(), status_code::cancelled);
}

// What one side wrote while the other did not read: each write raced a timer until some had waited for room
// and lost.
struct written {
  static constexpr int losses_wanted = 3;
  static constexpr int messages_max = 10'000;
  std::vector<int> messages_in_flight;
  int lost = 0;

  [[nodiscard]] bool enough() const { return lost == losses_wanted; }
  void note(std::size_t winner, const status& outcome, int number) {
    if (winner == 1) ++lost;
    if (outcome.ok()) return messages_in_flight.push_back(number);
    EXPECT_EQ(outcome.code(), status_code::cancelled) << outcome;
  }
};

echo::Text heavy_ball(int number) {
  echo::Text m = ball(number);
  m.set_text(std::string(64 << 10, 'x'));
  return m;
}

template <class Call>
task<std::vector<int>> read_all(Call& call) {
  std::vector<int> numbers;
  while (true) {
    const result<std::optional<echo::Text>> one = co_await call.next();
    if (!one.value()) co_return numbers;
    numbers.push_back((*one)->count());
  }
}

TEST_P(races, AWriteThatLosesWhileItWaitsForRoomIsOnItsWayAndArrivesOnce) {
  struct program {
    static task<status> talk(echo_stub s, written& w, std::vector<int>& back) {
      auto call = s.Chat();  // the server echoes; replies that are not read keep it from reading more
      co_await call.start();
      for (int i = 0; !w.enough() && i < written::messages_max; ++i) {
        const echo::Text one = heavy_ball(i);
        auto first = co_await when_any_settled(call.write(one), sleep_for(20ms));
        w.note(first.index(), first.get<0>(), i);
      }
      co_await call.writes_done();
      back = co_await read_all(call);
      co_return co_await call.finish();
    }
  };
  written w;
  std::vector<int> back;
  EXPECT_EQ(run(program::talk(stub(), w, back)), status());
  EXPECT_EQ(w.lost, written::losses_wanted);
  EXPECT_EQ(back, w.messages_in_flight);
}

// A handler's write throws the status that a client's write returns.
template <class Race>
status outcome_of_write(Race& race) {
  try {
    static_cast<void>(race.template get<0>());
  } catch (const call_ended& e) {
    return e.status();
  }
  return {};
}

class racing_service final : public echo_service {
 public:
  replies<echo::Text> Repeat(server_context&, const echo::Text&) override {
    auto writer = co_await replies<echo::Text>::writer();
    for (int i = 0; !w.enough() && i < written::messages_max; ++i) {
      const echo::Text one = heavy_ball(i);
      auto first = co_await when_any_settled(writer.write(one), sleep_for(20ms));
      w.note(first.index(), outcome_of_write(first), i);
    }
    done.set();
    co_return status();
  }
  written w;
  event<> done;
};

class races_of_handlers : public echo_fixture {
 protected:
  service& served() noexcept override { return racing_; }
  racing_service racing_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, races_of_handlers, every_world_and_link, echo_fixture::case_name);

TEST_P(races_of_handlers, AWriteThatLosesWhileItWaitsForRoomIsOnItsWayAndArrivesOnce) {
  struct program {
    static task<status> talk(echo_stub s, racing_service& handler, std::vector<int>& numbers) {
      const echo::Text request;
      auto call = s.Repeat(request);
      co_await call.start();
      co_await handler.done;
      numbers = co_await read_all(call);
      co_return co_await call.finish();
    }
  };
  std::vector<int> numbers;
  EXPECT_EQ(run(program::talk(stub(), racing_, numbers)), status());
  EXPECT_EQ(racing_.w.lost, written::losses_wanted);
  EXPECT_EQ(numbers, racing_.w.messages_in_flight);
}

}  // namespace
}  // namespace coracle::testing_support::race_test
