// cpu_sampler: samples where the threads of this process spend CPU time.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"

#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace coracle::runtime_internal {

class sample_ring;

// A stack of a thread. The first address is where the thread was, each other one is in the instruction that
// called: addresses are those of the code, as a symbolizer needs them.
struct sampled_stack {
  std::string thread;  // its name (proc_pid_comm(5))
  std::vector<std::uintptr_t> addresses;
  auto operator<=>(const sampled_stack&) const = default;
};

struct cpu_samples {
  std::map<sampled_stack, std::uint64_t> counts;
  std::uint64_t dropped = 0;  // samples that exceeded a limit
};

// A CPU profile in progress; a process has one at most. A timer on the CPU clock of each thread sends SIGPROF
// to that thread, whose handler records the stack. Threads that use no CPU are not interrupted.
//
// For one thread at a time, on any thread. Nothing here waits for anything but a handler that runs.
class cpu_sampler {
 public:
  static constexpr std::uint64_t samples_per_s = 100;
  static constexpr duration period = std::chrono::nanoseconds(std::chrono::seconds(1)) / samples_per_s;
  // The frames of a stack; those nearest to the thread's start are left out.
  static constexpr std::size_t frames_max = 64;
  // Others are not sampled. A timer takes memory of the kernel and a signal of RLIMIT_SIGPENDING.
  static constexpr std::size_t threads_max = 4096;
  // The samples between two calls of collect(): 4.1 MiB, which serve 80 busy CPUs for a second.
  static constexpr std::size_t pending_max = 8192;
  // The different stacks of a profile: at most 14 MiB.
  static constexpr std::size_t stacks_max = std::size_t{20} << 10;

  // Starts a profile of the threads that exist. ABORTED if there is one; FAILED_PRECONDITION if the process
  // handles SIGPROF by itself; RESOURCE_EXHAUSTED if the system refuses the timers.
  static result<std::unique_ptr<cpu_sampler>> start();
  cpu_sampler(const cpu_sampler&) = delete;
  cpu_sampler& operator=(const cpu_sampler&) = delete;
  ~cpu_sampler();

  // Takes what the handlers have recorded, and begins to sample threads that have been started meanwhile.
  // Call it every second or more often.
  void collect();
  [[nodiscard]] const cpu_samples& collected() const noexcept { return taken_; }
  // Ends the profile and returns its samples.
  [[nodiscard]] cpu_samples finish();

 private:
  cpu_sampler();
  void adopt_threads();
  void take_samples();
  void end() noexcept;

  const std::unique_ptr<sample_ring> ring_;
  std::unordered_map<pid_t, timer_t> timers_;  // by thread
  std::vector<std::string> names_;  // of threads; a signal has the index of its thread's name
  int timer_error_ = 0;  // of the last timer that could not be made
  struct sigaction before_{};
  bool runs_ = false;
  cpu_samples taken_;
};

}  // namespace coracle::runtime_internal
