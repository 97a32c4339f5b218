// loop: one thread's share of a runtime. It runs coroutines, fires timers and waits for I/O.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle {

namespace base {
class event_ring;  // private: src/base/event_ring.hpp
}

/// A reading of loop::stats(). The difference of two readings covers the time in between. No counter ever
/// decreases; counting costs an increment in the loop's own cache lines.
struct loop_counters {
  /// All zero.
  loop_counters() noexcept = default;
  /// Returns what was counted between `before` and this reading.
  loop_counters operator-(const loop_counters& before) const noexcept;

  std::uint64_t turns = 0;         ///< iterations; an idle loop makes none
  std::uint64_t resumes = 0;  ///< runnables that were run: resumed coroutines, posted functions, hooks
  std::uint64_t remote_posts = 0;  ///< of these, runnables that other threads or loops posted
  std::uint64_t timers = 0;  ///< timers that fired
  std::uint64_t submissions = 0;  ///< operations and sources handed to the kernel, or to the simulation
  std::uint64_t completions = 0;  ///< results that came back; those of a source count one by one
  std::uint64_t system_calls = 0;  ///< made by the loop for waiting and I/O; none in a simulation
  std::uint64_t frames = 0;  ///< coroutine frames made
  std::uint64_t heap_blocks = 0;  ///< frames, calls and operations that found no recycled block
};

class runtime;
namespace runtime_internal {
class backend;  // private: src/runtime/backend.hpp
}

/// One event loop of a runtime. Its runtime makes and owns it, and it lives as long as the runtime. At most
/// one thread drives it at a time: the thread in runtime::run(), a thread of the runtime, or a simulation.
///
/// Threads: post(), owner(), index(), log() and backend_name() may be called from any thread. Everything else
/// may be called only on the loop, that is, from a coroutine, timer or runnable that it runs.
///
/// A turn is one iteration of the loop. It runs queued runnables, limited by a number and a time so that a
/// busy queue cannot starve I/O, then the hooks of at_turn_end(). Then it submits I/O and waits once,
/// delivers completions and fires timers. With io_uring, a turn makes one system call.
class loop : public coro::executor {
 public:
  /// Returns the loop that this thread drives at the moment; null on plain threads and under other executors.
  [[nodiscard]] static loop* current() noexcept;

  // Inherited from coro::executor, with these additions:
  //   post(w)         on the loop: appends to its queue; elsewhere: goes through a lock-free queue of remote
  //                   calls and wakes the loop at most once per sleep. Runnables of one thread run in
  //                   the order in which they were posted.
  //   post_next_turn(w)  runs `w` after I/O and timers had a turn.
  //   at_turn_end(w)  hooks run in order; what they post still runs in this turn, within the limits.
  //   arm(t, when)    never fires early; arming an armed timer moves it. `never` is allowed.

  /// Returns the time when the current turn began or its I/O was collected, whichever is later.
  [[nodiscard]] time_point now() const noexcept final {
    if (may_be_stale_) [[unlikely]]
      read_clock();
    return now_;
  }

  /// Returns the runtime that owns this loop.
  [[nodiscard]] runtime& owner() const noexcept { return owner_; }
  /// Returns the loop's index in the runtime: 0 <= index() < owner().size().
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  /// Returns the logger of the runtime.
  [[nodiscard]] logger& log() const noexcept { return log_; }
  /// Returns the date and time of day, for logs and certificates; reads the clock at each call. It jumps,
  /// forwards and backwards, whenever the system clock is set. Timers and deadlines use now() and are not
  /// affected. In a simulation, it is the wall clock of the simulated host.
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const noexcept;
  /// Returns "io_uring", "epoll" or "sim".
  [[nodiscard]] std::string_view backend_name() const noexcept;

  /// Ends the current turn once the queued runnables have run: its hooks, I/O and timers wait for the next
  /// turn. For a thread in runtime::run_while() whose condition has changed on the loop: it has the result at
  /// once, and what it starts next is sent together with what has been collected. The program bounds how
  /// often it does this in a row. Call it on the loop.
  void end_turn() noexcept { turn_ends_ = true; }

  /// Returns what the loop has done so far. Call it on the loop, or while no thread drives the loop, because
  /// the counters are not atomic. To read them from elsewhere, run a task on the loop that reads them.
  [[nodiscard]] loop_counters stats() const noexcept;

  /// Returns the environment that root tasks of this loop inherit; it stops when the runtime stops.
  [[nodiscard]] const coro::environment& environment() const noexcept { return environment_; }

  /// @cond  For the library: its interface for I/O, and its events. Their headers are private.
  [[nodiscard]] coracle::runtime_internal::backend& io() noexcept { return backend_; }
  [[nodiscard]] base::event_ring& events() noexcept { return events_; }
  /// @endcond

 protected:
  loop(runtime& owner, std::size_t index, logger& log, coracle::runtime_internal::backend& backend,
       base::event_ring& events) noexcept;
  ~loop() = default;
  void stop_roots() noexcept { stop_->request_stop(); }
  void renew_roots() noexcept { stop_.emplace(); }
  void read_clock() const noexcept;
  [[nodiscard]] bool turn_ends() const noexcept { return turn_ends_; }
  void begin_turn() noexcept { turn_ends_ = false; }

  mutable time_point now_;
  mutable bool may_be_stale_ = false;  // now_ may be from before a wait: the next now() reads the clock

 private:
  static const char kind_;
  runtime& owner_;
  std::size_t index_;
  logger& log_;
  coracle::runtime_internal::backend& backend_;
  base::event_ring& events_;
  bool turn_ends_ = false;
  std::optional<coro::stop_source> stop_;
  coro::environment environment_;
};

}  // namespace coracle
