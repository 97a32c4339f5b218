// held_termination: while one exists, SIGTERM waits instead of ending the program.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// For a program that sets up before its loops can hear of signals. Not SIGINT: who sits before it may want it to end now.
// Any thread; not two at the same time.
class held_termination {
 public:
  // Holds nothing where all watches for signals are in use.
  held_termination() noexcept;
  held_termination(const held_termination&) = delete;
  held_termination& operator=(const held_termination&) = delete;
  // One that came and was not taken does now what it would have done without us; nothing, where somebody else watches.
  ~held_termination();

  // Whether one came; from then on it is the caller's.
  [[nodiscard]] bool take() noexcept;

 private:
  const std::int64_t events_;
};

}  // namespace coracle::runtime_internal::kernel
