// Exhaustion of descriptors, locked memory and rings: lower speed or a clear error, and no work is lost.
#include "support/kept_log.hpp"
#include "support/limited_process.hpp"
#include "support/uring_faults.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "runtime/uring/uring_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace coracle::resource_exhaustion_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::kept_log;
using testing_support::limit_descriptors;
using testing_support::limit_locked_memory;
using testing_support::lowest_free_descriptor;

// Each test in a process of its own, with which the limit ends.
class ExhaustionDeath : public testing::Test {
 protected:
  ExhaustionDeath() { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

[[noreturn]] void end_with(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
  std::_Exit(0);  // the exit of the sanitizers needs resources that this process no longer has
}
void expect(bool condition, const std::string& text) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(1);
}

task<> step(std::atomic<int>& done) {
  co_await sleep_for(1ms);
  ++done;
}

// Ten tasks on each loop, some of them spawned from another loop.
task<> work_everywhere(runtime& rt, std::atomic<int>& done) {
  for (std::size_t i = 0; i < 10 * rt.size(); ++i) rt.spawn(step(done));
  co_return;
}

void expect_it_works(runtime& rt) {
  std::atomic<int> done = 0;
  rt.spawn(work_everywhere(rt, done));
  rt.run();
  expect(done == static_cast<int>(10 * rt.size()), "work was lost");
}

// Returns whether a runtime of four loops can be constructed, which then works.
bool try_four_loops(backend_choice choice, logger& log, std::string& refusal) {
  try {
    runtime rt(runtime_options{.loops = 4, .backend = choice, .log = &log});
    limit_descriptors(16);  // only for the work of the test itself
    expect_it_works(rt);
    return true;
  } catch (const status_error& e) {
    expect(e.status().code() == status_code::resource_exhausted, "another status: " + std::string(e.what()));
    refusal = e.what();
    return false;
  }
}

[[noreturn]] void run_with_few_descriptors(backend_choice choice) {
  kept_log log;
  std::string refusal;
  const int before = lowest_free_descriptor();
  for (int more = 0;; ++more) {
    expect(more < 32, "four loops with 32 descriptors: " + refusal);
    limit_descriptors(more);
    const bool works = try_four_loops(choice, log, refusal);
    expect(lowest_free_descriptor() == before, "a descriptor was left open");
    if (!works) continue;
    expect(more > 4, "four loops without descriptors");
    end_with(refusal);
  }
}

TEST_F(ExhaustionDeath, WithoutDescriptorsALoopIsRefusedInWords) {
  if (testing_support::sanitizer_takes_descriptors())
    GTEST_SKIP() << "the sanitizer itself cannot do without";
  for (auto choice : {backend_choice::automatic, backend_choice::epoll})
    EXPECT_EXIT(run_with_few_descriptors(choice), testing::ExitedWithCode(0),
                "epoll is not available: EMFILE");
}

[[noreturn]] void run_with_little_locked_memory() {
  limit_locked_memory(0);
  for (std::size_t bytes : {0u, 16u << 10, 64u << 10, 256u << 10}) {
    testing_support::limit(RLIMIT_MEMLOCK, bytes);
    kept_log log;
    runtime rt(runtime_options{.loops = 12, .log = &log});
    expect_it_works(rt);
    if (log.text().find("epoll") != std::string::npos)
      expect(log.text().find("ENOMEM") != std::string::npos, "no reason is given: " + log.text());
  }
  end_with("all work was done");
}

TEST_F(ExhaustionDeath, WithoutLockedMemoryLoopsUseEpoll) {
  EXPECT_EXIT(run_with_little_locked_memory(), testing::ExitedWithCode(0), "all work was done");
}

// The next ring needs the memory of the previous one.
[[noreturn]] void change_threads_with_little_locked_memory() {
  limit_locked_memory(96u << 10);
  kept_log log;
  runtime rt(runtime_options{.log = &log});
  for (int i = 0; i < 20; ++i) {
    std::thread([&rt] { expect_it_works(rt); }).join();
    expect_it_works(rt);
  }
  end_with("all work was done");
}

TEST_F(ExhaustionDeath, ALoopThatChangesThreadsWaitsForItsRing) {
  EXPECT_EXIT(change_threads_with_little_locked_memory(), testing::ExitedWithCode(0), "all work was done");
}

TEST(Exhaustion, LoopsThatGetNoRingUseEpollBesideThoseThatDo) {
  if (testing_support::io_uring_is_to_refuse()) GTEST_SKIP() << "no loop gets a ring in this run";
  kept_log log;
  const runtime_internal::uring_faults before = runtime_internal::injected_faults();
  runtime_internal::injected_faults().loops_with_rings = 2;
  runtime rt(runtime_options{.loops = 4, .log = &log});
  runtime_internal::injected_faults() = before;
  if (rt.at(0).backend_name() != "io_uring") GTEST_SKIP() << log.text();
  EXPECT_EQ(rt.at(1).backend_name(), "io_uring");
  EXPECT_EQ(rt.at(2).backend_name(), "epoll");
  EXPECT_EQ(rt.at(3).backend_name(), "epoll");
  EXPECT_THAT(log.text(), HasSubstr("io_uring_setup: ENOMEM"));
  EXPECT_THAT(log.text(), HasSubstr("for all loops, the remaining loops use epoll"));
  expect_it_works(rt);
}

}  // namespace
}  // namespace coracle::resource_exhaustion_test
