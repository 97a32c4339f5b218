// The plain runtime: timers, timeouts, offload, scopes, queues and mutexes on the loops of one host,
// interrupted by crashes at any moment.
#include "sim/swarm/mixture.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/coro/mutex.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/offload.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// What the tasks report, over all lives of their host.
struct findings {
  run& of;
  int begun = 0;
  int ended = 0;
  int lives = 0;  // of loops
  int whole = 0;  // loops that completed their work
};

class counted {
 public:
  explicit counted(findings& f) noexcept : f_(f) { ++f_.begun; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { ++f_.ended; }

 private:
  findings& f_;
};

task<> nap(findings& f, dice d) {
  const counted here(f);
  for (int i = 0; i < 20; ++i) {
    const time_point due = deadline_after(coro::this_executor().now(), d.up_to(i % 2 ? 1s : 100us));
    co_await sleep_until(due);
    if (coro::this_executor().now() != due) f.of.report_error("a timer did not fire at its time");
  }
}

task<> produce(findings& f, queue<std::uint64_t>& to, std::uint64_t count, dice d) {
  const counted here(f);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool sent = co_await to.send(i);
    if (!sent) f.of.report_error("a channel was closed before its time");
    if (d.one_in(5)) co_await sleep_for(d.up_to(50ms));  // sleeps on purpose: virtual time
  }
  to.close();
}

task<> consume(findings& f, queue<std::uint64_t>& from, std::uint64_t count, dice d) {
  const counted here(f);
  std::uint64_t next = 0;
  while (true) {
    const std::optional<std::uint64_t> got = co_await from.receive();
    if (!got) break;
    if (*got != next++) f.of.report_error("a channel lost, doubled or reordered a message");
    if (d.one_in(5)) co_await sleep_for(d.up_to(50ms));  // sleeps on purpose: virtual time
  }
  if (next != count) f.of.report_error("a channel ended before its last message");
}

task<> enter(findings& f, mutex& door, int& inside, dice d) {
  const counted here(f);
  for (int i = 0; i < 5; ++i) {
    const mutex::guard held = co_await door.lock();
    if (++inside != 1) f.of.report_error("two tasks hold a mutex");
    struct leave {
      int& count;
      ~leave() { --count; }
    } const on_leaving{inside};
    const std::uint64_t answer = co_await offload([](std::uint64_t n) { return n + 1; }, d.below(100));
    if (answer == 0) f.of.report_error("offload lost an answer");
    co_await sleep_for(d.up_to(20ms));  // sleeps on purpose: virtual time
  }
}

task<> give_up(findings& f, dice d) {
  const counted here(f);
  const duration limit = d.up_to(5s);
  const time_point due = deadline_after(coro::this_executor().now(), limit);
  task<> sleeper = nap(f, d);
  with_timeout<void> limited(limit, std::move(sleeper));
  const status outcome = co_await limited;
  if (!outcome.ok() && coro::this_executor().now() != due) f.of.report_error("a timeout came early or late");
}

task<> live(findings& f, dice d) {
  const counted here(f);
  ++f.lives;
  queue<std::uint64_t> messages(d.below(4));
  mutex door;
  int inside = 0;
  const std::uint64_t count = d.below(60);
  scope work{co_await coro::this_environment()};
  work.spawn(produce(f, messages, count, dice(d.draw(), 1)));
  work.spawn(consume(f, messages, count, dice(d.draw(), 2)));
  for (int i = 0; i < 3; ++i) {
    work.spawn(nap(f, dice(d.draw(), 3)));
    work.spawn(enter(f, door, inside, dice(d.draw(), 4)));
    work.spawn(give_up(f, dice(d.draw(), 5)));
  }
  co_await work.join();
  ++f.whole;
}

}  // namespace

void play_loops(run& r) {
  findings f{r};
  dice draws = r.dice_for(1);
  const std::size_t loops = draws.between(1, 4);
  sim::faults trouble;
  if (draws.one_in(2)) trouble.crashes(10s, 5s).clock_jumps(1s, 1h);
  {
    sim::world_options options = r.world_options();
    options.faults = trouble;
    sim::world world(r.seed(), options);
    world.start(
        "host",
        [&](runtime& rt) {
          for (std::size_t i = 0; i < rt.size(); ++i) rt.spawn_on(rt.at(i), live(f, dice(draws.draw(), i)));
          return nullptr;
        },
        loops);
    const auto done = [&] { return f.whole >= static_cast<int>(loops) && world.is_up("host"); };
    if (!world.run_until(done, 5min) && trouble.crash_every() == duration::zero())
      r.report_error("hang: tasks do not end");
    world.set_faults({});
    world.run();
    r.note(world);
  }
  for (int i = 0; i < f.whole; ++i) r.tally("whole");
  for (int i = f.whole; i < f.lives; ++i) r.tally("cut off by a crash");
  if (f.begun != f.ended) r.report_error(std::to_string(f.begun - f.ended) + " tasks were left");
}

}  // namespace coracle::swarm
