// loop_counters: what a loop has done since it was made.
#pragma once

#include <cstdint>

namespace coracle {

// A reading of loop::counted(); two of them subtract. Each number only grows; counting costs an increment
// on the loop's own cache lines.
struct loop_counters {
  loop_counters() noexcept = default;
  loop_counters operator-(const loop_counters& before) const noexcept;

  std::uint64_t turns = 0;         // a loop without anything to do makes none
  std::uint64_t resumes = 0;       // works that were run: resumed coroutines, posted functions, hooks
  std::uint64_t letters = 0;       // of these, works that other threads or loops posted
  std::uint64_t timers = 0;        // timers that fired
  std::uint64_t submissions = 0;   // operations and sources handed to the kernel, or to the simulation
  std::uint64_t completions = 0;   // results that came back, those of sources one by one
  std::uint64_t system_calls = 0;  // of the loop itself, for waiting and for I/O; none in a simulation
  std::uint64_t frames = 0;        // coroutine frames made
  std::uint64_t heap_blocks = 0;   // of frames, calls and operations: what no recycled block was there for
};

}  // namespace coracle
