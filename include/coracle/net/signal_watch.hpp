// signal_watch: a task waits for SIGINT, SIGTERM and their like.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace coracle::net {

// Lives on the loop it was opened on. While one exists, its signals do nothing else in the whole process;
// what they did before is back when the last one is gone. Several may watch the same signal: each sees it.
// The signal masks of threads stay as they are, so that at least one thread must let the signal through. In
// a simulation, the world sends the signals.
class signal_watch {
 public:
  // On the current loop. RESOURCE_EXHAUSTED beyond eight at a time in one process.
  static result<signal_watch> open(std::initializer_list<process_signal> watched = {
                                       process_signal::interrupt, process_signal::terminate});
  signal_watch(signal_watch&&) noexcept;
  signal_watch& operator=(signal_watch&&) noexcept;
  // Nothing may be waiting.
  ~signal_watch();

  // The next signal that came since open(); several of one kind before anybody asked count as one. One task
  // waits at a time. CANCELLED on a stop, DEADLINE_EXCEEDED by the environment's deadline.
  [[nodiscard]] task<result<process_signal>> next();

 private:
  struct state;
  explicit signal_watch(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::net
