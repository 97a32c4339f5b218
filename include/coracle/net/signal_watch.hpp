// signal_watch: waits for SIGINT, SIGTERM and similar signals, for coroutines.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace coracle::net {

/// Delivers signals to a task. Lives on the loop on which it was opened. While a watch exists, its signals
/// have no other effect in the whole process; their previous dispositions are restored when the last watch is
/// gone. Several watches may watch the same signal, and each receives it. The signal masks of threads stay
/// unchanged, so at least one thread must not block the signal. In a simulation, the world sends the signals.
class signal_watch {
 public:
  /// Watches the given signals on the current loop. Fails with RESOURCE_EXHAUSTED when the process already
  /// has eight watches.
  static result<signal_watch> open(std::initializer_list<process_signal> watched = {
                                       process_signal::interrupt, process_signal::terminate});
  signal_watch(signal_watch&&) noexcept;
  signal_watch& operator=(signal_watch&&) noexcept;
  /// Stops watching. No next() may be in flight.
  ~signal_watch();

  /// Waits for the next signal since open(). Several signals of one kind that arrive before the call count as
  /// one. At most one next() may be in flight. Fails with CANCELLED on a stop and with DEADLINE_EXCEEDED when
  /// the environment's deadline passes.
  [[nodiscard]] task<result<process_signal>> next();

  /// @cond  For the library.
  // Takes over a watch of the current loop's backend, which may have signals already.
  static signal_watch adopt(std::int64_t events);
  /// @endcond

 private:
  struct state;
  explicit signal_watch(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

}  // namespace coracle::net
