#include "coracle/net/signal_watch.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <csignal>
#include <initializer_list>
#include <optional>
#include <thread>

namespace coracle::net::signal_watch_test {
namespace {

using namespace std::chrono_literals;

class SignalWatch : public testing_support::every_backend {
 protected:
  // To this process, or to the simulated host. Captures nothing, because coroutines call it.
  static void send(sim::world* world, process_signal s) {
    if (world) world->signal("host", s);
    else
      ::kill(::getpid(), s == process_signal::terminate ? SIGTERM
                         : s == process_signal::user1   ? SIGUSR1
                                                        : SIGINT);
  }
};
INSTANTIATE_TEST_SUITE_P(On, SignalWatch, testing_support::all_kinds, SignalWatch::case_name);

using sender = void (*)(sim::world*, process_signal);

task<> one_after_the_other(sender send, sim::world* world) {
  signal_watch watch = signal_watch::open().value();
  send(world, process_signal::terminate);
  const result<process_signal> first = co_await watch.next();
  EXPECT_EQ(first.value(), process_signal::terminate);
  send(world, process_signal::interrupt);
  const result<process_signal> second = co_await watch.next();
  EXPECT_EQ(second.value(), process_signal::interrupt);
}
TEST_P(SignalWatch, GivesEachSignalThatCame) { run(one_after_the_other(&send, sim_world())); }

task<> send_later(sender send, sim::world* world) {
  co_await sleep_for(2ms);  // sleeps on purpose: somebody waits by then
  send(world, process_signal::user1);
}

task<> expect_user1(signal_watch& watch) {
  const result<process_signal> got = co_await watch.next();
  EXPECT_EQ(got.value(), process_signal::user1);
}

task<> two_watches(sender send, sim::world* world) {
  signal_watch one = signal_watch::open({process_signal::user1}).value();
  signal_watch two = signal_watch::open({process_signal::user1, process_signal::user2}).value();
  co_await when_all(expect_user1(one), expect_user1(two), send_later(send, world));
}
TEST_P(SignalWatch, EveryWatchSeesIt) { run(two_watches(&send, sim_world())); }

task<> next_into(signal_watch& watch, std::optional<status>& outcome) {
  const result<process_signal> got = co_await watch.next();
  outcome = got.status();
}

task<> stopped() {
  signal_watch watch = signal_watch::open().value();
  scope waiting;
  std::optional<status> outcome;
  waiting.spawn(next_into(watch, outcome));
  waiting.request_stop();
  co_await waiting.join();
  EXPECT_EQ(outcome->code(), status_code::cancelled);
}
TEST_P(SignalWatch, AStopEndsTheWait) { run(stopped()); }

task<> too_many() {
  std::vector<signal_watch> watches;
  // Eight in a process, and the test's runtime uses one for the dump of its tasks.
  while (watches.size() < 7) watches.push_back(signal_watch::open({process_signal::user2}).value());
  EXPECT_EQ(signal_watch::open().status().code(), status_code::resource_exhausted);
  watches.pop_back();
  EXPECT_TRUE(signal_watch::open().ok());
  co_return;
}

// A backend that closes a watch frees its descriptor's number: the next owner of the number must not inherit
// its state.
task<> then_a_stream(sender send, sim::world* world) {
  co_await one_after_the_other(send, world);
  stream_pair pair = co_await connected_pair();
  const status sent = co_await write_text(pair.client, "after");
  EXPECT_TRUE(sent.ok());
  const std::string text = co_await read_text(pair.server, 5);
  EXPECT_EQ(text, "after");
}
TEST_P(SignalWatch, ItsDescriptorMayServeOthersAfterwards) { run(then_a_stream(&send, sim_world())); }

class RealSignal : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, RealSignal, testing_support::kernel_kinds, RealSignal::case_name);

TEST_P(RealSignal, WatchesAreLimited) { run(too_many()); }

int handled = 0;
void handler(int) { ++handled; }

task<> watched_meanwhile() {
  signal_watch watch = signal_watch::open({process_signal::user2}).value();
  ::kill(::getpid(), SIGUSR2);
  const result<process_signal> got = co_await watch.next();
  EXPECT_TRUE(got.ok());
}

TEST_P(RealSignal, TheDispositionIsBackAfterwards) {
  struct sigaction ours{};
  struct sigaction before{};
  ours.sa_handler = handler;
  ::sigaction(SIGUSR2, &ours, &before);
  handled = 0;
  run(watched_meanwhile());
  EXPECT_EQ(handled, 0);
  ::raise(SIGUSR2);
  EXPECT_EQ(handled, 1);
  ::sigaction(SIGUSR2, &before, nullptr);
}

// A handler that the program restores after a watch, because it saved the disposition during the watch.
class handler_behind_ours {
 public:
  handler_behind_ours(int flags, std::initializer_list<int> blocked) {
    struct sigaction own{};
    own.sa_handler = [](int) {
      ++calls;
      ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    };
    own.sa_flags = flags;
    ::sigemptyset(&own.sa_mask);
    for (const int number : blocked) ::sigaddset(&own.sa_mask, number);
    ::sigaction(SIGUSR2, &own, &before_);
    calls = 0;
    ::sigemptyset(&mask);
  }
  ~handler_behind_ours() { ::sigaction(SIGUSR2, &before_, nullptr); }
  static task<> save(struct sigaction& saved) {
    signal_watch watch = signal_watch::open({process_signal::user2}).value();
    ::sigaction(SIGUSR2, nullptr, &saved);
    co_return;
  }
  static bool blocks(int number) { return ::sigismember(&mask, number) == 1; }
  static inline int calls = 0;
  static inline sigset_t mask{};  // while it ran last

 private:
  struct sigaction before_{};
};

TEST_P(RealSignal, AHandlerThatComesBackByWayOfOursRunsWithItsMask) {
  const handler_behind_ours own(0, {SIGUSR1});
  struct sigaction saved{};
  run(handler_behind_ours::save(saved));
  ::sigaction(SIGUSR2, &saved, nullptr);
  for (int i = 1; i <= 2; ++i) {
    ::raise(SIGUSR2);
    EXPECT_EQ(own.calls, i);
    EXPECT_TRUE(own.blocks(SIGUSR1));
    EXPECT_TRUE(own.blocks(SIGUSR2)) << "no handler is interrupted by its own signal";
  }
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&after, SIGUSR1), 0);
  EXPECT_EQ(::sigismember(&after, SIGUSR2), 0);
}

TEST_P(RealSignal, AHandlerThatComesBackByWayOfOursMayAskToBeInterrupted) {
  const handler_behind_ours own(SA_NODEFER, {});
  struct sigaction saved{};
  run(handler_behind_ours::save(saved));
  ::sigaction(SIGUSR2, &saved, nullptr);
  ::raise(SIGUSR2);
  EXPECT_EQ(own.calls, 1);
  EXPECT_FALSE(own.blocks(SIGUSR2));
}

TEST_P(RealSignal, AHandlerThatComesBackByWayOfOursMayAskToRunOnce) {
  const handler_behind_ours own(static_cast<int>(SA_RESETHAND), {});
  struct sigaction saved{};
  run(handler_behind_ours::save(saved));
  ::sigaction(SIGUSR2, &saved, nullptr);
  ::raise(SIGUSR2);
  EXPECT_EQ(own.calls, 1);
  struct sigaction now{};
  ::sigaction(SIGUSR2, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

task<> watched_for(std::atomic<bool>& watching) {
  signal_watch watch = signal_watch::open({process_signal::user1}).value();
  watching = true;
  watching.notify_one();
  const result<process_signal> got = co_await watch.next();
  EXPECT_EQ(got.value(), process_signal::user1);
}

task<> count_signals(std::atomic<bool>& ended) {
  signal_watch watch = signal_watch::open({process_signal::user2}).value();
  for (int i = 0; i < 300; ++i) {
    const result<process_signal> got = co_await watch.next();
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok()) break;
  }
  ended = true;
}

// They interrupt system calls of the thread that drives the loop, also those that do not wait.
TEST_P(RealSignal, ManyDoNotEndTheWait) {
  std::atomic<bool> ended{false};
  const pthread_t driver = ::pthread_self();
  struct sigaction quiet{};  // before and after the watch
  quiet.sa_handler = handler;
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGUSR2, &quiet, &before), 0);
  rt().spawn_on(rt().at(0), count_signals(ended));
  std::thread other([&] {
    for (unsigned i = 0; !ended; ++i) {
      ::pthread_kill(driver, SIGUSR2);
      for (unsigned spin = 0; spin < i % 256; ++spin) static_cast<void>(ended.load());
    }
  });
  rt().run();
  other.join();
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST_P(RealSignal, ReachesTheLoopWhicheverThreadItHits) {
  std::atomic<bool> watching{false};
  // The handler ran and let the signal pass before any watch existed: signalfd would miss this one.
  std::thread other([&watching] {
    watching.wait(false);
    ::raise(SIGUSR1);
  });
  run(watched_for(watching));
  other.join();
}

}  // namespace
}  // namespace coracle::net::signal_watch_test
