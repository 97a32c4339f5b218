// executor: where coroutines run. A loop of the runtime is one; src/coro knows no more about it.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/metrics.hpp"
#include "coracle/coro/impl/executor_local.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/run_observer.hpp"
#include "coracle/coro/impl/task_tree.hpp"

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>

namespace coracle::coro {

/// A runnable: an entry in an executor's queue. It is intrusive: the poster owns it. It is in at most one
/// queue, and must stay alive until run() was called.
struct runnable {
  void (*run)(runnable&) noexcept = nullptr;  ///< called by the executor, once per post()
  runnable* next = nullptr;                   ///< the executor's link while it is queued
};

/// A timer, intrusive as `work` is: it must be disarmed, or have fired, before it is destroyed. `fire` is
/// called on the executor's thread, never before `when`, and may arm the timer again.
struct timer {
  void (*fire)(timer&) noexcept = nullptr;  ///< called when the timer is due
  time_point when{};                        ///< set by executor::arm()
  /// @cond  Links of the executor that holds it. The timer is armed while `holder` is not null.
  timer* next = nullptr;
  timer* prev = nullptr;
  void* holder = nullptr;
  std::uint32_t place = 0;
  /// @endcond
};

/// Runs coroutines, runnables and timers. At most one thread drives it at a time. Every member except post()
/// is for that thread only.
class executor {
 public:
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Appends `w` to the queue. Any thread may call this; it wakes the executor if it sleeps.
  virtual void post(runnable& w) noexcept = 0;
  /// Queues `w` for the next turn (iteration) of the executor, so that I/O and timers run first. Only on the
  /// executor's thread.
  virtual void post_next_turn(runnable& w) noexcept { post(w); }
  /// Runs `w` at the end of the current turn, before the executor checks for I/O again: the place to send
  /// what has been collected during the turn. Only on the executor's thread.
  virtual void at_turn_end(runnable& w) noexcept = 0;
  /// Arms `t` to fire at `when`.
  virtual void arm(timer& t, time_point when) noexcept = 0;
  /// Disarms `t`. Does nothing if it is not armed.
  virtual void disarm(timer& t) noexcept = 0;
  /// Returns the time at the start of the current turn.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Returns the executor that this thread drives at the moment, or null on a plain thread.
  [[nodiscard]] static executor* current() noexcept { return current_; }
  /// Returns whether this thread drives this executor at the moment.
  [[nodiscard]] bool is_current() const noexcept { return current_ == this; }
  /// Returns the tasks that run here. For the executor's thread only.
  [[nodiscard]] task_tree& tasks() noexcept { return tasks_; }
  /// Returns the executor's own object of type T, which derives from `executor_local` and has a default
  /// constructor; makes it on first use. For the executor's thread only. There are few of them, so finding
  /// one takes a comparison or two.
  template <class T>
  [[nodiscard]] T& local() {
    static constexpr char type = 0;
    for (executor_local* a = locals_.get(); a; a = a->next_.get())
      if (a->type_ == &type) return static_cast<T&>(*a);
    auto made = std::make_unique<T>();
    T& found = *made;
    found.executor_local::type_ = &type;
    found.executor_local::next_ = std::move(locals_);
    locals_ = std::move(made);
    return found;
  }
  /// Returns what receives the measurements that are made here; null, the default, if nothing does. For the
  /// executor's thread only.
  [[nodiscard]] metrics_sink* metrics() const noexcept { return metrics_; }
  /// Sets what metrics() returns. It must stay alive while the executor runs. For the executor's thread only.
  void use_metrics(metrics_sink* sink) noexcept { metrics_ = sink; }
  /// Adds a source of metrics, which removes itself from the list when it is destroyed. For the executor's
  /// thread only, or before the executor runs.
  void add_metrics(metrics_source& s) noexcept { sources_.push_back(s); }
  /// Returns the sources of metrics. For the executor's thread only.
  [[nodiscard]] const base::intrusive_list<metrics_source>& metrics_sources() const noexcept {
    return sources_;
  }
  /// Distinguishes kinds of executors without RTTI: the address of an object that the kind owns, or null.
  [[nodiscard]] const void* kind() const noexcept { return kind_; }

  /// Has `o` notified of what runs here; null: nothing is. For the library, on the executor's thread.
  void observe_runs(run_observer* o) noexcept {
    run_observer_ = o;
    if (is_current()) run_observer::exchange(o);
  }

 protected:
  explicit executor(const void* kind = nullptr) noexcept : kind_(kind) {}
  ~executor() = default;
  /// Makes the frame pool allocate from `resource`. Must be called before anything runs on the executor.
  void use_memory_resource(std::pmr::memory_resource& resource) noexcept { frames_.use(resource); }
  [[nodiscard]] const frame_pool& frames() const noexcept { return frames_; }

  /// Makes an executor the current one of this thread for the lifetime of the entry. Entries nest.
  class entry {
   public:
    explicit entry(executor& e) noexcept
        : before_(current_), pool_before_(frame_pool::exchange_current(&e.frames_)) {
      current_ = &e;
      run_observer::exchange(e.run_observer_);
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
      current_ = before_;
      run_observer::exchange(before_ ? before_->run_observer_ : nullptr);
      frame_pool::exchange_current(pool_before_);
    }

   private:
    executor* before_;
    frame_pool* pool_before_;
  };

 private:
  [[gnu::visibility("default")]] static inline constinit thread_local executor* current_ = nullptr;
  const void* kind_;
  metrics_sink* metrics_ = nullptr;
  base::intrusive_list<metrics_source> sources_;
  frame_pool frames_;
  task_tree tasks_;
  run_observer* run_observer_ = nullptr;
  std::unique_ptr<executor_local> locals_;
};

/// Returns the current executor. Calling it where there is none is a defect of the caller and aborts.
executor& this_executor() noexcept;

}  // namespace coracle::coro
