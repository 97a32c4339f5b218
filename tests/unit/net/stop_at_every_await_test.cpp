// One long program with queues, generators, combinators and sockets, stopped at each of its awaits.
#include "coracle/coro/as_completed.hpp"
#include "coracle/coro/async_generator.hpp"
#include "coracle/coro/latch.hpp"
#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/shared_mutex.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/offload.hpp"
#include "unit/net/stop_replay.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::stop_at_every_await_test {
namespace {

using namespace std::chrono_literals;
using testing_support::counted;
using testing_support::ledger;

task<> produce(queue<int>& into, ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i)
    if (!co_await into.send(i)) co_return;
  into.close();
}
task<int> consume(queue<int>& from, mutex& m, ledger& alive) {
  const counted here(alive);
  int sum = 0;
  while (const std::optional<int> next = co_await from.receive()) {
    const mutex::guard held = co_await m.lock();
    co_await sleep_for(50us);
    sum += *next;
  }
  co_return sum;
}
task<> through_a_channel(ledger& alive) {
  const counted here(alive);
  queue<int> numbers(1);
  mutex m;
  scope work{co_await coro::this_environment()};
  work.spawn(produce(numbers, alive));
  std::optional<int> sum;
  try {
    sum = co_await consume(numbers, m, alive);
  } catch (const coro::cancelled&) {
    numbers.close();
  }
  co_await work.join();
  EXPECT_EQ(sum.value_or(3), 3);
}

async_generator<int> counting(ledger& alive) {
  const counted here(alive);
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(20us);
    co_yield i;
  }
}
task<> through_a_generator(ledger& alive) {
  const counted here(alive);
  async_generator<int> numbers = counting(alive);
  while (const std::optional<int> n = co_await numbers.next()) EXPECT_LT(*n, 3);
}

class permit {
 public:
  explicit permit(semaphore& of) noexcept : of_(of) {}
  permit(const permit&) = delete;
  permit& operator=(const permit&) = delete;
  ~permit() { of_.release(); }

 private:
  semaphore& of_;
};
task<> holder(semaphore& s, shared_mutex& m, latch& l, ledger& alive) {
  const counted here(alive);
  const latch::arrival arrives(l);
  co_await s.acquire();
  const permit taken(s);
  const shared_mutex::guard held = co_await m.lock();
  co_await sleep_for(20us);
}
task<> through_primitives(ledger& alive) {
  const counted here(alive);
  semaphore s(1);
  shared_mutex m;
  latch all(2);
  scope work{co_await coro::this_environment()};
  work.spawn(holder(s, m, all, alive));
  work.spawn(holder(s, m, all, alive));
  bool stopped = false;
  try {
    co_await all;
  } catch (const coro::cancelled&) {
    stopped = true;
  }
  try {
    co_await work.join();
  } catch (const coro::cancelled&) {
    stopped = true;
  }
  if (stopped) throw coro::cancelled();
}

int add(int a, int b) { return a + b; }
task<int> away(ledger& alive) {
  const counted here(alive);
  co_return co_await offload(&add, 1, 2);
}
task<int> in_a_while(duration d, ledger& alive) {
  const counted here(alive);
  co_await sleep_for(d);
  co_return 3;
}
task<> through_combinators(ledger& alive) {
  const counted here(alive);
  auto both = co_await when_all_settled(away(alive), in_a_while(100us, alive));
  auto first = co_await when_any_settled(away(alive), in_a_while(1h, alive));
  EXPECT_EQ(first.index() == 0 || first.index() == 1, true);
  const result<int> late = co_await with_timeout(50us, in_a_while(1h, alive));
  EXPECT_FALSE(late.ok());
  std::vector<task<int>> tasks;
  tasks.push_back(away(alive));
  tasks.push_back(in_a_while(30us, alive));
  as_completed<int> ends{co_await coro::this_environment(), std::move(tasks)};
  bool stopped = false;
  try {
    while (co_await ends.next()) {
    }
  } catch (const coro::cancelled&) {
    stopped = true;
  }
  co_await ends.join();
  if (stopped) throw coro::cancelled();
}

task<> echo(net::listener& at, ledger& alive) {
  const counted here(alive);
  auto accepted = co_await at.accept();
  if (!accepted) co_return;
  net::stream s = *std::move(accepted);
  std::array<std::uint8_t, 4096> bytes;
  for (;;) {
    const result<std::size_t> got = co_await s.read(bytes);
    if (!got || *got == 0) co_return;
    const status put = co_await s.write(bytes_view(bytes).first(*got));
    if (!put.ok()) co_return;
  }
}
task<> talk(const net::address& to, ledger& alive) {
  const counted here(alive);
  auto connected = co_await net::stream::connect(to);
  if (!connected) co_return;
  net::stream s = *std::move(connected);
  const std::vector<std::uint8_t> sent(10'000, 7);
  const status put = co_await s.write(sent);
  if (!put.ok()) co_return;
  s.shutdown_send();
  std::array<std::uint8_t, 4096> bytes;
  std::size_t all = 0;
  for (;;) {
    const result<std::size_t> got = co_await s.read(bytes);
    if (!got) co_return;
    if (*got == 0) break;
    all += *got;
  }
  // A stopped echo ends like any other, and its end may arrive before this side's own stop.
  const coro::environment& under = co_await coro::this_environment();
  EXPECT_TRUE(all == sent.size() || under.stop.stop_requested()) << all;
}
task<> through_a_socket(ledger& alive) {
  const counted here(alive);
  net::listener at = net::listener::open(net::address::parse("127.0.0.1:0").value()).value();
  const net::address to = at.local_address();
  scope work{co_await coro::this_environment()};
  work.spawn(echo(at, alive));
  work.spawn(talk(to, alive));
  co_await work.join();
  co_await at.close();
}

// One after the other: each finds what the previous one has left.
task<> whole(ledger& alive) {
  co_await through_a_channel(alive);
  co_await through_a_generator(alive);
  co_await through_primitives(alive);
  co_await through_combinators(alive);
  co_await through_a_socket(alive);
}

class StopAtEveryAwait : public testing_support::stop_replay {};
INSTANTIATE_TEST_SUITE_P(On, StopAtEveryAwait, testing_support::all_kinds, StopAtEveryAwait::case_name);

TEST_P(StopAtEveryAwait, NothingIsLeftOfAProgramStoppedBeforeAnAwait) { replay(&whole, false, 60); }
TEST_P(StopAtEveryAwait, NothingIsLeftOfAProgramStoppedDuringAnAwait) { replay(&whole, true, 60); }

}  // namespace
}  // namespace coracle::stop_at_every_await_test
