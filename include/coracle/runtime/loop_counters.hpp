// loop_counters: counters of a loop's activity.
#pragma once

#include <cstdint>

namespace coracle {

/// A reading of loop::counted(). The difference of two readings covers the time in between. No counter ever
/// decreases; counting costs an increment in the loop's own cache lines.
struct loop_counters {
  loop_counters() noexcept = default;
  loop_counters operator-(const loop_counters& before) const noexcept;

  std::uint64_t turns = 0;         // an idle loop makes none
  std::uint64_t resumes = 0;       // runnables that were run: resumed coroutines, posted functions, hooks
  std::uint64_t remote_posts = 0;       // of these, runnables that other threads or loops posted
  std::uint64_t timers = 0;        // timers that fired
  std::uint64_t submissions = 0;   // operations and sources handed to the kernel, or to the simulation
  std::uint64_t completions = 0;   // results that came back; those of a source count one by one
  std::uint64_t system_calls = 0;  // made by the loop for waiting and I/O; none in a simulation
  std::uint64_t frames = 0;        // coroutine frames made
  std::uint64_t heap_blocks = 0;   // frames, calls and operations that found no recycled block
};

}  // namespace coracle
