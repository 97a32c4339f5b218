// Programs with the primitives of the room coro, stopped at each of their awaits.
#include "coracle/coro/barrier.hpp"
#include "coracle/coro/broadcast.hpp"
#include "coracle/coro/condition_variable.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/oneshot.hpp"
#include "coracle/coro/shared_mutex.hpp"
#include "coracle/coro/wait_group.hpp"
#include "coracle/coro/watch.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/yield.hpp"
#include "unit/net/stop_replay.hpp"

#include <chrono>
#include <optional>

namespace coracle::stop_in_primitives_test {
namespace {

using namespace std::chrono_literals;
using testing_support::counted;
using testing_support::ledger;

task<> open_doors(event<>& door, event<int>& number, oneshot<int>& letter, ledger& alive) {
  const counted here(alive);
  co_await sleep_for(20us);
  door.set();
  co_await sleep_for(20us);
  number.set(7);
  co_await sleep_for(20us);
  letter.send(8);
}
task<> go_through_doors(event<>& door, event<int>& number, oneshot<int>& letter, ledger& alive) {
  const counted here(alive);
  co_await door;
  const int& n = co_await number;
  EXPECT_EQ(n, 7);
  const std::optional<int> written = co_await letter.receive();
  EXPECT_EQ(written, 8);
}
task<> through_events(ledger& alive) {
  const counted here(alive);
  event<> door;
  event<int> number;
  oneshot<int> letter;
  co_await when_all(open_doors(door, number, letter, alive), go_through_doors(door, number, letter, alive));
}

task<> tell(broadcast<int>& all, watch<int>& latest, ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(20us);
    all.send(i);
    latest.set(i);
  }
  all.close();
  latest.close();
}
task<> hear(broadcast<int>& from, ledger& alive) {
  const counted here(alive);
  broadcast<int>::subscriber mine(from);
  int expected = 0;
  while (std::optional<broadcast<int>::received_message> one = co_await mine.next())
    EXPECT_EQ(one->message(), expected++);
  EXPECT_EQ(expected, 3);
}
task<> follow(watch<int>& latest, ledger& alive) {
  const counted here(alive);
  watch<int>::observer mine(latest);
  int seen = -1;
  while (const std::optional<int> one = co_await mine.changed()) seen = *one;
  EXPECT_EQ(seen, 2);
}
task<> through_news(ledger& alive) {
  const counted here(alive);
  broadcast<int> all(4);
  watch<int> latest(-1);
  co_await when_all(hear(all, alive), hear(all, alive), follow(latest, alive), tell(all, latest, alive));
}

task<> meet(barrier& at, wait_group& busy, ledger& alive) {
  const counted here(alive);
  const wait_group::member under_way(busy);
  for (int i = 0; i < 2; ++i) {
    co_await sleep_for(20us);
    co_await at.arrive_and_wait();
  }
}
task<> wait_for(wait_group& busy, ledger& alive) {
  const counted here(alive);
  co_await busy;
  EXPECT_EQ(busy.count(), 0u);
}
task<> through_meetings(ledger& alive) {
  const counted here(alive);
  barrier at(2);
  wait_group busy;
  co_await when_all(meet(at, busy, alive), meet(at, busy, alive), wait_for(busy, alive));
}

// Its members are guarded by `m`.
struct store {
  mutex m;
  condition_variable changed;
  int stock = 0;
};
task<> bring(store& s, ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(20us);
    const mutex::guard held = co_await s.m.lock();
    ++s.stock;
    s.changed.notify_one();
  }
}
task<> fetch(store& s, ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) {
    mutex::guard held = co_await s.m.lock();
    const auto any = [&s] { return s.stock > 0; };
    try {
      co_await s.changed.wait(held, any);
    } catch (const coro::cancelled&) {
      EXPECT_TRUE(held) << "it waits with the lock, and ends with it";
      throw;
    }
    --s.stock;
  }
}
task<> through_a_condition(ledger& alive) {
  const counted here(alive);
  store s;
  co_await when_all(fetch(s, alive), bring(s, alive));
  EXPECT_EQ(s.stock, 0);
}

task<> look(shared_mutex& m, ledger& alive) {
  const counted here(alive);
  const shared_mutex::shared_guard held = co_await m.lock_shared();
  co_await sleep_for(20us);
}
task<> change(shared_mutex& m, ledger& alive) {
  const counted here(alive);
  const shared_mutex::guard held = co_await m.lock();
  co_await sleep_for(20us);
}
task<> through_a_shared_mutex(ledger& alive) {
  const counted here(alive);
  shared_mutex m;
  co_await when_all(change(m, alive), look(m, alive), look(m, alive), change(m, alive), look(m, alive));
}

task<> give_way(ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) co_await yield();
}
task<> through_yields(ledger& alive) {
  const counted here(alive);
  co_await when_all(give_way(alive), give_way(alive));
}

class StopInPrimitives : public testing_support::stop_replay {};
INSTANTIATE_TEST_SUITE_P(On, StopInPrimitives, testing_support::all_kinds, StopInPrimitives::case_name);

TEST_P(StopInPrimitives, NothingIsLeftOfWaitsForEvents) { replay_both(&through_events, 6); }
TEST_P(StopInPrimitives, NothingIsLeftOfWaitsForNews) { replay_both(&through_news, 12); }
TEST_P(StopInPrimitives, NothingIsLeftOfMeetings) { replay_both(&through_meetings, 9); }
TEST_P(StopInPrimitives, NothingIsLeftOfWaitsForACondition) { replay_both(&through_a_condition, 12); }
TEST_P(StopInPrimitives, NothingIsLeftOfLocksAndShares) { replay_both(&through_a_shared_mutex, 10); }
TEST_P(StopInPrimitives, NothingIsLeftOfYields) { replay_both(&through_yields, 6); }

}  // namespace
}  // namespace coracle::stop_in_primitives_test
