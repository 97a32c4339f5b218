// runtime: the loops of a program, their threads and their shared state.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/impl/handle_errors.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime_options.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle {

namespace runtime_internal {
class runtime_core;  // private: src/runtime/runtime_core.hpp
}

/// Owns the loops of a program and their threads.
///
/// Threads: every member may be called from any thread, with these exceptions: the constructor, the
/// destructor and everything that drives or waits (run(), run_until(), run_for(), run_while(), poll(),
/// run_loop(), pollable(), start(), restart()) must be called on a thread that drives no loop. On a thread
/// that drives one, these members throw usage_error; the destructor aborts.
///
/// Life cycle: construct the runtime, then call run() or one of its variants, or start(), or sync_wait(),
/// which starts it. The tasks passed to spawn() are the root tasks. stop() requests all of them to end, and
/// root tasks that are spawned later find their stop token fired, until restart(). If an exception leaves a
/// root task that has no error handler (except coro::cancelled after a stop), it is logged and stops the
/// runtime, and run() rethrows the first one.
class runtime {
 public:
  /// Makes a runtime with the default options.
  runtime();
  /// Makes a runtime. Throws status_error: FAILED_PRECONDITION when a backend that was selected by name does
  /// not work on this system, or when CORACLE_BACKEND has none of its three values; RESOURCE_EXHAUSTED when
  /// the process has no descriptors or memory left for a loop. The message tells which.
  explicit runtime(const runtime_options& options);
  /// The same with runtime_options{.loops = loops}.
  explicit runtime(std::size_t loops);
  /// @cond  For the library.
  // Makes a runtime over backends that another component made and drives.
  explicit runtime(std::unique_ptr<coracle::runtime_internal::runtime_core> core) noexcept;
  /// @endcond
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  /// Calls stop(), waits until every root task has ended (driving the loops that no thread drives, on this
  /// thread and, with own_threads, on its own threads), and joins the threads. A root task that ignores
  /// its stop token delays this. No other thread may be inside run(), run_loop() or sync_wait().
  ~runtime();

  /// Returns the number of loops.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Returns the i-th loop; i < size(), else throws usage_error.
  [[nodiscard]] loop& at(std::size_t i);
  /// Returns the logger of the options.
  [[nodiscard]] logger& log() const noexcept;
  /// Returns the backend of loop 0. Loops have different backends only if resources ran out while they were
  /// made.
  [[nodiscard]] std::string_view backend_name() const noexcept;

  /// Starts `t` on the next loop in round-robin order, on that loop's thread and never inside this call. May
  /// be called before, during and after run(), from any thread and from tasks; the number of tasks is not
  /// limited. What the arguments of the task refer to must outlive it. Throws usage_error if the task is
  /// empty or has ended.
  void spawn(task<> t) { spawn_on(next(), std::move(t)); }
  /// The same on the loop `where`, which must belong to this runtime (else: usage_error).
  void spawn_on(loop& where, task<> t);
  /// The same for a root task with its own error handler: an exception that leaves `t` is passed to on_error,
  /// as a std::exception_ptr, on t's loop. An exception that on_error throws leaves the root task.
  template <class OnError>
    requires std::is_invocable_v<OnError&, std::exception_ptr>
  void spawn(task<> t, OnError on_error) {
    spawn(coro::handle_errors(std::move(t), std::move(on_error)));
  }
  /// The same on the loop `where`.
  template <class OnError>
    requires std::is_invocable_v<OnError&, std::exception_ptr>
  void spawn_on(loop& where, task<> t, OnError on_error) {
    spawn_on(where, coro::handle_errors(std::move(t), std::move(on_error)));
  }
  /// Calls spawn(fn(args...)) for a function or a lambda without captures: a coroutine does not keep the
  /// captures of its lambda alive. Parameters that are taken by value live in the coroutine's frame.
  template <class Fn, class... Args>
    requires std::is_invocable_r_v<task<>, Fn, Args...>
  void spawn(Fn&& fn, Args&&... args) {
    static_assert(std::is_empty_v<std::remove_cvref_t<Fn>> || std::is_pointer_v<std::decay_t<Fn>>,
                  "pass what the lambda captures as arguments: its captures end before the coroutine does");
    spawn(std::invoke(std::forward<Fn>(fn), std::forward<Args>(args)...));
  }

  /// Drives loop 0 on this thread, and the others on separate threads, which run until the destructor.
  /// Returns when no root task is left and no work_guard is held, or when stop() was called and the root
  /// tasks have ended. Rethrows the first exception that left a root task. If loop 0 is driven already (by
  /// start(), or by run() on another thread), only waits. May be called again.
  void run();
  /// Like run(), but also returns at time `when`. Returns true while work is left.
  bool run_until(time_point when);
  /// Like run(), but also returns after `d`. Returns true while work is left.
  bool run_for(duration d) { return run_until(deadline_after(now(), d)); }
  /// Like run(), but checks keep_going() on this thread before each turn of loop 0, and returns when it
  /// returns false: whatever changes its result must happen on loop 0 or wake it. Aborts if another thread
  /// drives loop 0. Returns true while work is left. keep_going() must not throw.
  bool run_while(const std::function<bool()>& keep_going);
  /// Drives one loop of a runtime without own threads (runtime_options::own_threads, else:
  /// usage_error), as long as keep_going() is true. It is checked on this thread before each turn: what
  /// changes its result on the loop calls loop::end_turn(), and other threads post such a call. The loop
  /// belongs to no thread between two calls, and any thread may call next; aborts if another one drives the
  /// loop. Unlike run_while(), it neither returns when no root task is left nor rethrows exceptions.
  /// keep_going() must not throw.
  void run_loop(loop& which, const std::function<bool()>& keep_going);
  /// Runs a turn of loop 0 on this thread, without waiting for events, and a few more while each receives
  /// something. Loop 0 then belongs to this thread, also between calls, until release_loop() or the
  /// destructor: poll() and pollable() on other threads abort. The other loops run as with run(). Returns
  /// true while work is left; otherwise rethrows the first exception that left a root task.
  bool poll();
  /// Returns a descriptor for a foreign event loop, which is readable when poll() has something to do.
  /// Submits queued I/O and arms the next deadline, so call it again before each wait, after the last poll().
  /// It returns the same descriptor until release_loop(). The caller must neither read nor close it. Throws
  /// status_error (RESOURCE_EXHAUSTED) when the process has no descriptors left.
  [[nodiscard]] int pollable();
  /// Lets another thread drive loop 0. Call it on the thread that called poll() or pollable() (else: abort).
  void release_loop();
  /// Starts a thread for every loop that no thread drives; these threads run until the destructor.
  /// Idempotent.
  void start();
  /// Requests all root tasks to end. Does not wait. May also be called in a signal handler.
  void stop() noexcept;
  /// Returns whether stop() was called and restart() was not.
  [[nodiscard]] bool stopping() const noexcept;
  /// Reverts a stop(). No root task may be left (else: abort), and no thread may be inside run(). Waits until
  /// the servers and channels of this runtime have ended; these stay stopped. Does nothing without a stop().
  void restart();
  /// Returns the present time of the clock of the loops.
  [[nodiscard]] time_point now() const noexcept;

  /// Writes to the log, as warnings, which tasks of each loop wait where, one line per task, with awaited
  /// tasks below their awaiters, to find the cause of a hang. Does not wait: each loop writes during its next
  /// turn.
  void dump_tasks();

  /// Keeps run() from returning while it is held, even if no root task is left. Must not outlive the runtime.
  class work_guard {
   public:
    /// Keeps `of` running.
    explicit work_guard(runtime& of) noexcept;
    work_guard(work_guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    work_guard& operator=(work_guard&& other) noexcept {
      std::swap(of_, other.of_);
      return *this;
    }
    ~work_guard() { release(); }
    /// Releases the guard early. Idempotent.
    void release() noexcept;

   private:
    runtime* of_;
  };
  /// Returns a work_guard of this runtime.
  [[nodiscard]] work_guard keep_running() noexcept { return work_guard(*this); }

  /// Returns the loop for the next spawn() and advances the round-robin order.
  [[nodiscard]] loop& next() noexcept;
  /// Spawns `t` on `where` and blocks until it has ended; the base of sync_wait(). The task must not throw.
  void spawn_and_wait(loop& where, task<> t);
  /// @cond  For the library.
  [[nodiscard]] coracle::runtime_internal::runtime_core& core() noexcept { return *core_; }
  /// @endcond

 private:
  std::unique_ptr<coracle::runtime_internal::runtime_core> core_;
};

}  // namespace coracle
