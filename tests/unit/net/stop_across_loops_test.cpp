// Programs whose waits are on another loop or on other threads, stopped at each of their awaits.
#include "coracle/coro/event.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/on.hpp"
#include "coracle/runtime/parallel_for.hpp"
#include "unit/net/stop_replay.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

namespace coracle::stop_across_loops_test {
namespace {

using namespace std::chrono_literals;
using testing_support::counted;
using testing_support::ledger;

loop& there() { return loop::current()->owner().at(1); }

task<> over(loop& where, task<> t) { co_await on(where, std::move(t)); }

task<int> answer_in_a_while(ledger& alive) {
  const counted here(alive);
  EXPECT_EQ(loop::current()->index(), 1u);
  co_await sleep_for(100us);
  co_return 42;
}
task<> through_visits(ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) {
    const int answer = co_await on(there(), answer_in_a_while(alive));
    EXPECT_EQ(answer, 42);
    EXPECT_EQ(loop::current()->index(), 0u);
  }
}

task<int> never_answer(ledger& alive) {
  const counted here(alive);
  co_await sleep_for(24h);
  co_return 42;
}
task<int> ask_over_there(ledger& alive) {
  const counted here(alive);
  co_return co_await on(there(), never_answer(alive));
}
// Only a stop, of the whole program or by a timeout, ends the wait on the other loop.
task<> through_a_visit_in_vain(ledger& alive) {
  const counted here(alive);
  const result<int> answer = co_await with_timeout(200us, ask_over_there(alive));
  EXPECT_FALSE(answer.ok());
}

// State on the other loop, where another task uses it at the same time.
struct place {
  explicit place(loop& owner_loop) : door(owner_loop), numbers(0, owner_loop), m(owner_loop) {}
  event<> door;
  queue<int> numbers;
  mutex m;
};
task<> serve(place& at, ledger& alive) {
  const counted here(alive);
  {
    const mutex::guard held = co_await at.m.lock();
    co_await sleep_for(100us);
    at.door.set();
    co_await sleep_for(100us);
  }
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(50us);
    const bool sent = co_await at.numbers.send(i);
    EXPECT_TRUE(sent);
  }
  at.numbers.close();
}
task<> visit(place& at, ledger& alive) {
  const counted here(alive);
  co_await at.door;
  {
    const mutex::guard held = co_await at.m.lock();
  }
  int expected = 0;
  while (const std::optional<int> n = co_await at.numbers.receive()) EXPECT_EQ(*n, expected++);
  EXPECT_EQ(expected, 3);
}
task<> through_a_place(ledger& alive) {
  const counted here(alive);
  place at(there());
  co_await when_all(visit(at, alive), over(there(), serve(at, alive)));
}

task<> through_threads(ledger& alive) {
  const counted here(alive);
  constexpr std::size_t n = 1000;
  std::atomic<std::size_t> calls{0};
  const auto call = [&calls](std::size_t) { ++calls; };
  for (int i = 0; i < 2; ++i) co_await parallel_for(n, call);
  EXPECT_EQ(calls, 2 * n);
  const auto same = [](std::size_t x) { return x; };
  const std::size_t sum = co_await parallel_reduce(n, std::size_t{0}, same, std::plus<>());
  EXPECT_EQ(sum, n * (n - 1) / 2);
}

class StopAcrossLoops : public testing_support::stop_replay {
 protected:
  StopAcrossLoops() : stop_replay(2) {}
};
INSTANTIATE_TEST_SUITE_P(On, StopAcrossLoops, testing_support::all_kinds, StopAcrossLoops::case_name);

TEST_P(StopAcrossLoops, NothingIsLeftOfTasksOnAnotherLoop) { replay_both(&through_visits, 3); }
TEST_P(StopAcrossLoops, NothingIsLeftOfATaskThatAnotherLoopNeverEnds) {
  replay_both(&through_a_visit_in_vain, 2);
}
TEST_P(StopAcrossLoops, NothingIsLeftOfWaitsForWhatLivesOnAnotherLoop) { replay_both(&through_a_place, 6); }
TEST_P(StopAcrossLoops, NothingIsLeftOfCallsOnOtherThreads) { replay_both(&through_threads, 3); }

}  // namespace
}  // namespace coracle::stop_across_loops_test
