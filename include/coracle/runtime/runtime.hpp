// runtime: the loops of a program, their threads and what they share.
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

// Threads: every member may be called from any thread, the constructor, the destructor and all that
// drives or waits (run() and its kin, poll(), pollable(), start(), restart()) from any that drives no
// loop (else: abort).
//
// Life: made, then run() or one of its kin, or start(), or sync_wait(), which starts it. Root tasks
// are what spawn() was given. stop() asks all of them to end, and roots spawned later find their stop
// token fired, until restart(). An exception that leaves a root without a handler (coro::cancelled after
// a stop excepted) is logged, stops the runtime, and the first one comes out of run().
class runtime {
 public:
  runtime();
  // Throws status_error: FAILED_PRECONDITION when a backend that was asked for by name does not
  // work here, or CORACLE_BACKEND has a value that is none of the three; RESOURCE_EXHAUSTED when the
  // process has no descriptors or memory left for a loop; the text says which.
  explicit runtime(const runtime_options& options);
  explicit runtime(std::size_t loops);  // the same with runtime_options().loops(loops)
  // For the room's own use: over backends that somebody else made and drives.
  explicit runtime(std::unique_ptr<coracle::runtime_internal::runtime_core> core) noexcept;
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  // stop(), waits until every root has ended (driving the loops on threads of its own where nobody
  // does), and joins the threads. A root that ignores its stop token holds this up. No other thread
  // may be inside run() or sync_wait().
  ~runtime();

  [[nodiscard]] std::size_t size() const noexcept;
  // The i-th loop; i < size().
  [[nodiscard]] loop& at(std::size_t i);
  [[nodiscard]] logger& log() const noexcept;
  // That of loop 0; loops differ only where resources gave out in between.
  [[nodiscard]] std::string_view backend_name() const noexcept;

  // Starts `t` on the next loop in turn (on that loop's thread, never inside this call). Before,
  // during and after run(), from any thread and from tasks, without bound. What its arguments refer to
  // must outlive it.
  void spawn(task<> t) { spawn_on(next(), std::move(t)); }
  void spawn_on(loop& where, task<> t);
  // The same for a root that may fail alone: an exception that leaves `t` goes to on_error, as a
  // std::exception_ptr, on t's loop. What on_error itself throws escapes from the root.
  template <class OnError>
    requires std::is_invocable_v<OnError&, std::exception_ptr>
  void spawn(task<> t, OnError on_error) {
    spawn(coro::handle_errors(std::move(t), std::move(on_error)));
  }
  template <class OnError>
    requires std::is_invocable_v<OnError&, std::exception_ptr>
  void spawn_on(loop& where, task<> t, OnError on_error) {
    spawn_on(where, coro::handle_errors(std::move(t), std::move(on_error)));
  }
  // spawn(fn(args...)) for a function or a lambda that captures nothing: a coroutine does not keep
  // the captures of the lambda that made it alive. Parameters taken by value live in its frame.
  template <class Fn, class... Args>
    requires std::is_invocable_r_v<task<>, Fn, Args...>
  void spawn(Fn&& fn, Args&&... args) {
    static_assert(std::is_empty_v<std::remove_cvref_t<Fn>> || std::is_pointer_v<std::decay_t<Fn>>,
                  "pass what the lambda captures as arguments: its captures end before the coroutine does");
    spawn(std::invoke(std::forward<Fn>(fn), std::forward<Args>(args)...));
  }

  // Drives loop 0 on this thread, and the others on threads of their own, which stay until the
  // destructor. Returns when no root is left and no work_guard is held, or when stop() was called and
  // the roots have ended; rethrows what escaped from a root. When loop 0 is driven already (start(), or
  // run() elsewhere), only waits. May be called again.
  void run();
  // As run(), but returns when the time has come, too. True while something is left to run.
  bool run_until(time_point when);
  bool run_for(duration d) { return run_until(deadline_after(now(), d)); }
  // As run(), but looks at goes_on() before each turn of loop 0, here, and returns when it says no: what
  // changes its answer happens on loop 0 or wakes it. Not while another thread drives loop 0. True while
  // something is left to run. goes_on() must not throw.
  bool run_while(const std::function<bool()>& goes_on);
  // One turn of loop 0 on this thread, which does not wait. Loop 0 then belongs to this thread, between
  // calls, too, until leave() or the destructor: other threads abort in poll() and pollable(). Other
  // loops as with run(). True while something is left; else rethrows what escaped from a root.
  bool poll();
  // For a foreign event loop: a descriptor that is readable when poll() has something to do. Submits
  // what is queued and arms the next deadline, so ask for it anew before each wait, after the last
  // poll(). Never read it, never close it. Throws status_error: RESOURCE_EXHAUSTED without descriptors.
  [[nodiscard]] int pollable();
  // Lets another thread drive loop 0. On the thread that called poll() or pollable().
  void leave();
  // Drives every loop that nobody drives on a thread of its own, until the destructor. Idempotent.
  void start();
  // Does not wait. Also safe in a signal handler.
  void stop() noexcept;
  [[nodiscard]] bool stopping() const noexcept;
  // Takes a stop() back, once no root is left and nobody is inside run() (else: abort); waits for the end of
  // servers and channels over this runtime, which stay stopped. Nothing without a stop().
  void restart();
  // The present by the clock of its loops.
  [[nodiscard]] time_point now() const noexcept;

  // Writes to the log, as warnings, which tasks of each loop wait where (a line each, the awaited below
  // their awaiters): for whoever looks for a hang. Does not wait: each loop writes at its next turn.
  void dump_tasks();

  // While one is held, run() goes on although no root is left. Must not outlive the runtime.
  class work_guard {
   public:
    explicit work_guard(runtime& of) noexcept;
    work_guard(work_guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    work_guard& operator=(work_guard&& other) noexcept {
      std::swap(of_, other.of_);
      return *this;
    }
    ~work_guard() { release(); }
    void release() noexcept;

   private:
    runtime* of_;
  };
  [[nodiscard]] work_guard keep_running() noexcept { return work_guard(*this); }

  // The loop that the next spawn() would take; counts as taking it.
  [[nodiscard]] loop& next() noexcept;
  // What sync_wait() is made of: spawn_on(), and block until the root has ended. The root must not throw.
  void spawn_and_wait(loop& where, task<> t);
  // For the room's own use.
  [[nodiscard]] coracle::runtime_internal::runtime_core& core() noexcept { return *core_; }

 private:
  std::unique_ptr<coracle::runtime_internal::runtime_core> core_;
};

}  // namespace coracle
