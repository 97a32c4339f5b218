// Signals that are watched by one watch after the other, with threads that take signals themselves.
#include "runtime/kernel/process_signals.hpp"

#include "coracle/runtime/process_signal.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>

namespace coracle::runtime_internal::kernel::process_signals_test {
namespace {

constexpr std::uint32_t user2 = std::uint32_t{1} << static_cast<unsigned>(process_signal::user2);

handle opened() {
  const std::int64_t h = open_signals(user2);
  EXPECT_GE(h, 0);
  return static_cast<handle>(h);
}
bool ended(handle h) {
  const std::uint32_t left = forget_signals(h);
  ::close(h);
  return left & user2;
}

// The handler runs on the other thread, and may be anywhere when a watch takes over from another.
TEST(ProcessSignals, NoneIsLostBetweenTwoWatches) {
  const handle whole = opened();  // keeps the handler
  std::atomic<int> wanted{0};
  std::atomic<int> raised{0};
  constexpr int rounds = 2'000;
  std::thread other([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (wanted.load() < i) std::this_thread::yield();
      for (int spin = 0; spin < i % 64; ++spin) static_cast<void>(wanted.load());
      ::pthread_kill(::pthread_self(), SIGUSR2);
      raised.store(i);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    const handle first = opened();
    wanted.store(i);
    const handle second = opened();
    const bool seen_by_first = ended(first);
    while (raised.load() < i) std::this_thread::yield();
    const bool seen_by_second = ended(second);
    EXPECT_TRUE(seen_by_first || seen_by_second) << i;
  }
  other.join();
  EXPECT_TRUE(ended(whole));
}

// The watch of a server that runs, after the deferral of one that was set up: a signal that both saw would
// count as two, and the second SIGTERM cancels calls.
TEST(ProcessSignals, ThatWereDeferredArriveOnce) {
  constexpr std::uint32_t terminate = std::uint32_t{1} << static_cast<unsigned>(process_signal::terminate);
  constexpr int rounds = 2'000;
  std::atomic<int> wanted{0};
  std::atomic<int> raised{0};
  std::thread other([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (wanted.load() < i) std::this_thread::yield();
      for (int spin = 0; spin < i % 64; ++spin) static_cast<void>(wanted.load());
      ::pthread_kill(::pthread_self(), i % 2 == 0 ? SIGTERM : SIGUSR2);
      raised.store(i);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    deferred_signals deferred(user2);
    wanted.store(i);
    const std::int64_t opened = deferred.become_watch(terminate | user2);
    ASSERT_GE(opened, 0);
    const auto watch = static_cast<handle>(opened);
    const std::uint32_t early = take_signals(watch);
    while (raised.load() < i) std::this_thread::yield();
    const std::uint32_t late = forget_signals(watch);
    ::close(watch);
    EXPECT_EQ(early & late, 0u) << i;
    EXPECT_EQ(early | late, i % 2 == 0 ? terminate : user2) << i;
  }
  other.join();
}

TEST(ProcessSignals, AWatchThatADeferralBecomesHasMoreSignals) {
  constexpr std::uint32_t hangup = std::uint32_t{1} << static_cast<unsigned>(process_signal::hangup);
  constexpr std::uint32_t terminate = std::uint32_t{1} << static_cast<unsigned>(process_signal::terminate);
  struct sigaction before{};
  ::sigaction(SIGHUP, nullptr, &before);
  deferred_signals deferred(0);
  std::raise(SIGTERM);
  const auto watch = static_cast<handle>(deferred.become_watch(terminate | hangup));
  std::raise(SIGHUP);
  EXPECT_EQ(forget_signals(watch), terminate | hangup);
  ::close(watch);
  struct sigaction after{};
  ::sigaction(SIGHUP, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace coracle::runtime_internal::kernel::process_signals_test
