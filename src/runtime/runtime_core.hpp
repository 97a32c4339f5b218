// runtime_core: the implementation of a runtime: its loops, its threads and the count of its roots.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/coro/block_on.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/backend.hpp"
#include "runtime/driven_loop.hpp"
#include "runtime/offload.hpp"

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::runtime_internal {

// Drives the loops of a runtime in place of its threads; the simulated world implements it. Has one thread
// for all loops that it drives. Must outlive the runtimes that use it.
class driver {
 public:
  // Executes turns of its world until done(context) holds; returns at once if it already holds. Called on a
  // thread that drives no loop, by runtime::run(), sync_wait() and ~runtime, which waits for the roots to end
  // and releases its backends afterwards. Aborts with the reason when nothing remains that could make the
  // condition true.
  virtual void drive(bool (*done)(const void* context) noexcept, const void* context) noexcept = 0;
  // The duration of the next offload()ed call of one of its loops, in the driver's time.
  virtual duration offload_delay() noexcept = 0;

 protected:
  ~driver() = default;
};

// Makes a runtime over the given backends, with one loop each and without threads: `by` drives the loops
// through driven_loop. `core().loop_at(i)` of the result returns the driven_loop.
std::unique_ptr<runtime> make_driven_runtime(std::vector<std::unique_ptr<backend>> backends, logger& log,
                                             driver& by);

class runtime_core;

// A root task. Posted to the loop on which it runs; deletes itself and the task's frame there. Its memory
// comes from the frame pool, so that a root spawned on a loop allocates nothing in steady state.
class root final : public coro::runnable, coro::completion {
 public:
  // Sets `ended`, if not null, as its last act, and does not access the core after that.
  root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended,
       bool loop_service) noexcept;
  static void* operator new(std::size_t n) { return coro::frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { coro::frame_pool::deallocate(p, n); }

 private:
  ~root() = default;
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;
  runtime_core& core_;
  task<>::handle frame_;
  coro::blocking_signal* ended_;
  bool service_;
};

// Detects use of a runtime in a child of fork(). Threads do not exist in the child, and rings and epoll sets
// are shared with the parent: a child that continued would hang, or take the parent's I/O. One per runtime; a
// check costs one load.
class fork_guard {
 public:
  // Records that threads or descriptors belong to this process from now on.
  void driven() noexcept;
  // Aborts in a child of the process that called driven().
  void check() const noexcept;
  // Whether this is a child of the process that called driven().
  [[nodiscard]] bool in_child() const noexcept;

 private:
  std::atomic<unsigned> forks_before_{0};  // 0: driven() was not called
};

// What a module above keeps once per runtime. Others may hold it, too, and it may outlive the runtime.
class companion {
 public:
  virtual ~companion() = default;
  // Runs once, in the destructor of the runtime, on its thread: no task or service is left, and the loops
  // still run what is posted to them until this returns, if threads of the runtime drive them.
  virtual void runtime_ended() noexcept = 0;
};

// Owned by a runtime. The members that the runtime forwards to have the runtime's thread rules.
class runtime_core {
 public:
  // `by` drives the loops if not null; otherwise threads do: with own_threads false, those of the program
  // alone.
  runtime_core(std::vector<std::unique_ptr<backend>> backends, logger& log, std::size_t blocking_threads,
               driver* by, bool own_threads = true);
  runtime_core(const runtime_core&) = delete;
  runtime_core& operator=(const runtime_core&) = delete;
  ~runtime_core();
  // Makes the loops, after the runtime that owns them exists.
  void set_owner(runtime& owner);
  // Sets the memory resource of all loops; call it before anything runs on them.
  void use_memory_resource(std::pmr::memory_resource& resource) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }
  [[nodiscard]] driven_loop& loop_at(std::size_t i) noexcept { return *loops_[i]; }
  [[nodiscard]] driven_loop& next() noexcept;
  [[nodiscard]] logger& log() const noexcept { return log_; }
  [[nodiscard]] driver* driven_by() const noexcept { return driver_; }
  // Whether this process is a child of the one that ran the loops.
  [[nodiscard]] bool in_child() const noexcept { return guard_.in_child(); }
  [[nodiscard]] blocking_pool& pool() noexcept { return pool_; }

  // --- roots and services
  // Sets `ended`, if not null, as the last act of the root, which does not access the core after that.
  void spawn(driven_loop& on, task<> t, coro::blocking_signal* ended = nullptr);
  // For roots that run without spawn(): count one, before it begins; log what left it, and stop the runtime;
  // and count its end.
  void add_root() noexcept {
    guard_.check();
    state_.fetch_add(one_root, std::memory_order_relaxed);
  }
  void root_failed(std::exception_ptr error) noexcept;
  void end_root() noexcept;
  // Spawns a root that only the runtime's destructor waits for, not run(): see loop_service.hpp.
  void spawn_service(driven_loop& on, task<> t);
  void stop() noexcept;
  void restart();
  void hold() noexcept { state_.fetch_add(one_guard, std::memory_order_relaxed); }
  void release() noexcept;
  [[nodiscard]] bool stopping() const noexcept { return state_.load(std::memory_order_acquire) & stop_bit; }
  [[nodiscard]] bool finished() const noexcept { return finished(state_.load(std::memory_order_acquire)); }
  // Whether no roots, guards or services are left.
  [[nodiscard]] bool empty() const noexcept {
    return finished() && services_.load(std::memory_order_acquire) == 0;
  }
  void notify_if_finished() noexcept;

  // Any thread. Returns the companion of type T; the first call makes it.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> companion_of() {
    static const char kind = 0;
    return std::static_pointer_cast<T>(
        companion_of(&kind, []() -> std::shared_ptr<companion> { return std::make_shared<T>(); }));
  }

  // --- driving the loops
  void start();
  // Runs until nothing is left, `until` is reached or keep_going() returns false (null: always true). Returns
  // true while something is left.
  bool run(time_point until, const std::function<bool()>* keep_going);
  bool poll();
  [[nodiscard]] int pollable();
  void release_loop() noexcept;
  void run_loop(driven_loop& which, const std::function<bool()>& keep_going);
  void spawn_and_wait(driven_loop& on, task<> t);
  void wait(coro::blocking_signal& ended);
  void shut_down() noexcept;

 private:
  friend class root;
  // Roots, guards and the stop bit share one word, so that "nothing left" is a single atomic observation.
  static constexpr std::uint64_t one_root = 1;
  static constexpr std::uint64_t one_guard = std::uint64_t{1} << 32;
  static constexpr std::uint64_t stop_bit = std::uint64_t{1} << 63;
  static constexpr bool no_roots(std::uint64_t state) noexcept { return (state & (one_guard - 1)) == 0; }
  static constexpr bool finished(std::uint64_t state) noexcept {
    return no_roots(state) && (state < one_guard || (state & stop_bit));
  }
  std::shared_ptr<companion> companion_of(const void* kind, std::shared_ptr<companion> (*make)());
  void notify_companions() noexcept;
  void service_ended() noexcept;
  void notify_waiters() noexcept;
  template <class F>
  void begin_and_wait(F begin, coro::blocking_signal& ended);
  void start_from(std::size_t first);
  void require_own_threads() const;
  bool try_acquire_first_loop() noexcept;
  driven_loop& keep_first_loop();
  void release_first_loop() noexcept;
  void drive_simulated(time_point until, const std::function<bool()>* keep_going);
  bool has_unfinished_tasks();
  void wait_until_empty() noexcept;
  void drive_remaining(bool first) noexcept;
  static bool drain(driven_loop& l) noexcept;
  void thread_main(driven_loop& l) noexcept;

  logger& log_;
  driver* driver_;
  const bool own_threads_;
  std::vector<std::unique_ptr<backend>> backends_;
  std::vector<std::unique_ptr<driven_loop>> loops_;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::size_t> services_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> shutting_down_{false};
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::atomic<bool>> driven_;  // run_loop() needs no lock
  std::thread::id holder_;  // the program's thread that drives loop 0, if any
  int waiters_ = 0;  // threads that wait for a task without driving a loop
  bool keeps_first_loop_ = false;  // holder_ keeps loop 0 between calls: see runtime::poll()
  std::vector<std::thread> threads_;
  std::vector<std::pair<const void*, std::shared_ptr<companion>>> companions_;
  std::exception_ptr error_;
  blocking_pool pool_;
  fork_guard guard_;
};

}  // namespace coracle::runtime_internal
