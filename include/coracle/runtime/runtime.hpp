// runtime: the loops of a program, their threads and what they share.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle {

namespace io {
class runtime_core;  // private: src/runtime/runtime_core.hpp
}

// How a loop talks to the kernel. automatic: io_uring where it works, else epoll; the environment
// variable CORACLE_BACKEND (auto, io_uring or epoll) takes the place of automatic only.
enum class backend_choice : unsigned char { automatic, io_uring, epoll };

class runtime_options {
 public:
  runtime_options() noexcept = default;
  // Loops, one thread each; 0 means one per core that this process may use. Default 1.
  runtime_options& loops(std::size_t n) noexcept { return loops_ = n, *this; }
  runtime_options& backend(backend_choice choice) noexcept { return backend_ = choice, *this; }
  // Must outlive the runtime. Default: stderr_logger().
  runtime_options& log_to(logger& log) noexcept { return log_ = &log, *this; }
  // The most threads that offload() uses, at least 1. Default 16: enough for files and name
  // services, few enough that their stacks do not matter.
  runtime_options& blocking_threads(std::size_t n) noexcept { return blocking_threads_ = n, *this; }

  // runtime::dump_tasks() whenever the process gets this signal, until stop(). Default: none.
  runtime_options& dump_tasks_on(process_signal s) noexcept { return dump_tasks_on_ = s, *this; }

  [[nodiscard]] std::size_t loops() const noexcept { return loops_; }
  [[nodiscard]] backend_choice backend() const noexcept { return backend_; }
  [[nodiscard]] logger& log() const noexcept { return log_ ? *log_ : stderr_logger(); }
  [[nodiscard]] std::size_t blocking_threads() const noexcept { return blocking_threads_; }
  [[nodiscard]] std::optional<process_signal> dump_tasks_on() const noexcept { return dump_tasks_on_; }

 private:
  std::size_t loops_ = 1;
  std::size_t blocking_threads_ = 16;
  logger* log_ = nullptr;
  backend_choice backend_ = backend_choice::automatic;
  std::optional<process_signal> dump_tasks_on_;
};
static_assert(!std::is_aggregate_v<runtime_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

// Threads: every member may be called from any thread, the constructor, the destructor, run() and
// start() from any that drives no loop (else: abort).
//
// Life: made, then run() or start(), or sync_wait(), which starts it. Root tasks are what spawn()
// was given. stop() asks all of them to end, for good: roots spawned later find their stop token
// fired. An exception that leaves a root (coro::cancelled after a stop excepted) is logged, stops the runtime, and
// the first one comes out of run().
class runtime {
 public:
  runtime();
  // Throws status_error: FAILED_PRECONDITION when a backend that was asked for by name does not
  // work here, or CORACLE_BACKEND has a value that is none of the three; the text says which.
  explicit runtime(const runtime_options& options);
  // For the room's own use: over backends that somebody else made and drives.
  explicit runtime(std::unique_ptr<coracle::io::runtime_core> core) noexcept;
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  // stop(), waits until every root has ended (driving the loops on threads of its own where nobody
  // does), and joins the threads. A root that ignores its stop token holds this up. No other thread
  // may be inside run() or sync_wait().
  ~runtime();

  [[nodiscard]] std::size_t size() const noexcept;
  // The i-th loop; i < size().
  [[nodiscard]] loop& at(std::size_t i) noexcept;
  [[nodiscard]] logger& log() const noexcept;
  // That of loop 0; loops differ only where resources gave out in between.
  [[nodiscard]] std::string_view backend_name() const noexcept;

  // Starts `t` on the next loop in turn (on that loop's thread, never inside this call). Before,
  // during and after run(), from any thread and from tasks. What its arguments refer to must outlive it.
  void spawn(task<> t) { spawn_on(next(), std::move(t)); }
  void spawn_on(loop& where, task<> t);
  // spawn(fn(args...)) for a function or a lambda that captures nothing: a coroutine does not keep
  // the captures of the lambda that made it alive. Parameters taken by value live in its frame.
  template <class Fn, class... Args>
    requires std::is_invocable_r_v<task<>, Fn, Args...>
  void spawn(Fn&& fn, Args&&... args) {
    static_assert(std::is_empty_v<std::remove_cvref_t<Fn>> || std::is_pointer_v<std::decay_t<Fn>>,
                  "pass what the lambda captures as arguments: its captures end before the coroutine does");
    spawn(std::invoke(std::forward<Fn>(fn), std::forward<Args>(args)...));
  }

  // Drives loop 0 on this thread and the others on threads of their own until no root is left and
  // no work_guard is held, or until stop() was called and the roots have ended. Rethrows what
  // escaped from a root. When the loops are driven already (start(), or run() elsewhere), only
  // waits. May be called again.
  void run();
  // Drives every loop that nobody drives on a thread of its own, until the destructor. Idempotent.
  void start();
  // Does not wait. Also safe in a signal handler.
  void stop() noexcept;
  [[nodiscard]] bool stopping() const noexcept;

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
  [[nodiscard]] coracle::io::runtime_core& core() noexcept { return *core_; }

 private:
  std::unique_ptr<coracle::io::runtime_core> core_;
};

}  // namespace coracle
