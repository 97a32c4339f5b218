#include "runtime/cpu_sampler.hpp"

#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace coracle::runtime_internal::cpu_sampler_test {
namespace {

using ::testing::HasSubstr;

// The mutex is for ThreadSanitizer, which calls handlers of signals in such functions only.
[[gnu::noinline]] void burn_cpu(const std::atomic<bool>& stop) {
  std::mutex any;
  volatile std::uint32_t number = 1;
  while (!stop.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 10'000; ++i) number = number * 1'664'525U + 1'013'904'223U;
    const std::lock_guard lock(any);
  }
}

bool is_in_burn_cpu(std::uintptr_t address) {
  constexpr std::uintptr_t bytes_max = 2048;
  return address - reinterpret_cast<std::uintptr_t>(&burn_cpu) < bytes_max;
}

// A thread of a name that uses all the CPU that it gets.
class burner {
 public:
  explicit burner(const char* name)
      : thread_([this, name] {
          pthread_setname_np(pthread_self(), name);
          named_ = true;
          named_.notify_one();
          burn_cpu(stop_);
        }) {
    named_.wait(false);
  }
  burner(const burner&) = delete;
  burner& operator=(const burner&) = delete;
  ~burner() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<bool> named_{false};
  std::thread thread_;
};

std::uint64_t samples_of(const cpu_samples& all, const std::string& thread) {
  std::uint64_t sum = 0;
  for (const auto& [stack, count] : all.counts)
    if (stack.thread == thread && std::ranges::any_of(stack.addresses, is_in_burn_cpu)) sum += count;
  return sum;
}

bool has_default_action(int signal) {
  struct sigaction action{};
  ::sigaction(signal, nullptr, &action);
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

TEST(cpu_sampler, SamplesThreadsOfBeforeAndLaterByTheirNames) {
  const burner before("before");
  auto sampler = cpu_sampler::start();
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  const burner later("later");
  while (samples_of((*sampler)->collected(), "before") < 3 ||
         samples_of((*sampler)->collected(), "later") < 3) {
    (*sampler)->collect();
    std::this_thread::yield();
  }
  const cpu_samples all = (*sampler)->finish();
  EXPECT_GE(samples_of(all, "before"), 3U);
  EXPECT_EQ(all.dropped, 0U);
  for (const auto& [stack, count] : all.counts) {
    EXPECT_GT(count, 0U);
    EXPECT_LE(stack.addresses.size(), cpu_sampler::frames_max);
  }
}

TEST(cpu_sampler, RunsOnceAtATimeAndAgain) {
  {
    const auto first = cpu_sampler::start();
    ASSERT_TRUE(first.ok()) << first.status();
    const auto second = cpu_sampler::start();
    EXPECT_EQ(second.status().code(), status_code::aborted);
    EXPECT_THAT(second.status().message(), HasSubstr("in progress"));
  }
  EXPECT_TRUE(cpu_sampler::start().ok());
}

TEST(cpu_sampler, LeavesTheHandlerOfAnotherProfilerAlone) {
  struct sigaction theirs{};
  theirs.sa_handler = [](int) {};
  struct sigaction before{};
  ::sigaction(SIGPROF, &theirs, &before);
  const auto refused = cpu_sampler::start();
  EXPECT_EQ(refused.status().code(), status_code::failed_precondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("SIGPROF"));
  struct sigaction now{};
  ::sigaction(SIGPROF, &before, &now);
  EXPECT_EQ(now.sa_handler, theirs.sa_handler);
}

TEST(cpu_sampler, LeavesAHandlerAloneThatIsSetDuringTheProfile) {
  struct sigaction theirs{};
  theirs.sa_handler = [](int) {};
  struct sigaction ours{};
  {
    const auto sampler = cpu_sampler::start();
    ASSERT_TRUE(sampler.ok()) << sampler.status();
    ::sigaction(SIGPROF, &theirs, &ours);
  }
  struct sigaction now{};
  struct sigaction none{};
  none.sa_handler = SIG_DFL;
  ::sigaction(SIGPROF, &none, &now);
  EXPECT_EQ(now.sa_handler, theirs.sa_handler);
}

TEST(cpu_sampler, IgnoresSignalsOfOthers) {
  auto sampler = cpu_sampler::start();
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  for (int i = 0; i < 50; ++i) ::raise(SIGPROF);
  const cpu_samples all = (*sampler)->finish();
  std::uint64_t sum = all.dropped;
  for (const auto& [stack, count] : all.counts) sum += count;
  EXPECT_LT(sum, 50U) << "of this thread's CPU time at most";
}

// A thread that blocks the signal gets it when the profile has ended, and the default action would end the
// process.
TEST(cpu_sampler, SignalsThatArriveLateDoNoHarm) {
  std::atomic<int> phase{0};
  std::thread late([&] {
    sigset_t profiling;
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &profiling, nullptr);
    phase = 1;
    phase.notify_all();
    phase.wait(1);
    sigset_t pending;
    do {
      for (volatile int i = 0; i < 10'000;) i = i + 1;
      sigpending(&pending);
    } while (sigismember(&pending, SIGPROF) != 1);
    phase = 3;
    phase.notify_all();
    phase.wait(3);
    pthread_sigmask(SIG_UNBLOCK, &profiling, nullptr);
  });
  phase.wait(0);
  auto sampler = cpu_sampler::start();
  EXPECT_TRUE(sampler.ok()) << sampler.status();
  phase = 2;
  phase.notify_all();
  phase.wait(2);
  if (sampler.ok()) (void)(*sampler)->finish();
  EXPECT_TRUE(has_default_action(SIGPROF));
  phase = 4;
  phase.notify_all();
  late.join();
}

}  // namespace
}  // namespace coracle::runtime_internal::cpu_sampler_test
