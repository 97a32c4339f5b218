// runtime_core: what stands behind a runtime: its loops, its threads and the count of its roots.
#pragma once

#include "coracle/coro/block_on.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/blocking_pool.hpp"
#include "runtime/driven_loop.hpp"
#include "runtime/driver.hpp"

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

class runtime_core;

// Posted to the loop where it shall run; deletes itself and the task's frame there. Memory as for a
// frame, so that a root spawned on a loop allocates nothing in steady state.
class root final : public coro::work, coro::completion {
 public:
  // `ended`, when given, is set as the last act: nothing of the core is touched after it.
  root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended, bool resident) noexcept;
  static void* operator new(std::size_t n) { return coro::frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { coro::frame_pool::deallocate(p, n); }

 private:
  ~root() = default;
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;
  runtime_core& core_;
  task<>::handle frame_;
  coro::blocking_signal* ended_;
  bool resident_;
};

// Threads do not come along into a child of fork(), and rings and epoll sets are shared with the parent: a child that
// went on would hang, or take the parent's I/O. One for each runtime; costs a load where it is asked.
class fork_guard {
 public:
  // Threads or descriptors belong to this process from now on.
  void driven() noexcept;
  // Aborts in a child of the process that called driven().
  void check() const noexcept;

 private:
  std::atomic<unsigned> forks_before_{0};  // 0: nothing to guard yet
};

// Owned by a runtime. The members that the runtime passes on have its thread rules.
class runtime_core {
 public:
  // `by` drives the loops if given; else threads do.
  runtime_core(std::vector<std::unique_ptr<backend>> backends, logger& log, std::size_t blocking_threads,
               driver* by);
  runtime_core(const runtime_core&) = delete;
  runtime_core& operator=(const runtime_core&) = delete;
  ~runtime_core();
  // Makes the loops, once the runtime that they belong to exists.
  void belong_to(runtime& owner);
  // Of all loops, before anything runs on them.
  void take_memory_from(std::pmr::memory_resource& resource) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }
  [[nodiscard]] driven_loop& loop_at(std::size_t i) noexcept { return *loops_[i]; }
  [[nodiscard]] driven_loop& next() noexcept;
  [[nodiscard]] logger& log() const noexcept { return log_; }
  [[nodiscard]] driver* driven_by() const noexcept { return driver_; }
  [[nodiscard]] blocking_pool& pool() noexcept { return pool_; }

  // What runs.
  // `ended`, when given, is set as the last act of the root: nothing of the core is touched after it.
  void spawn(driven_loop& on, task<> t, coro::blocking_signal* ended = nullptr);
  // A root that run() does not wait for, but the runtime's end does: see resident.hpp.
  void spawn_resident(driven_loop& on, task<> t);
  void stop() noexcept;
  void restart();
  void hold() noexcept { state_.fetch_add(one_guard, std::memory_order_relaxed); }
  void release() noexcept;
  [[nodiscard]] bool stopping() const noexcept { return state_.load(std::memory_order_acquire) & stop_bit; }
  [[nodiscard]] bool finished() const noexcept { return finished(state_.load(std::memory_order_acquire)); }
  // No resident is left either.
  [[nodiscard]] bool empty() const noexcept {
    return finished() && residents_.load(std::memory_order_acquire) == 0;
  }
  void announce_if_finished() noexcept;

  // What a room above keeps once per runtime: made for the first who asks. Any thread.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> companion() {
    static const char kind = 0;
    return std::static_pointer_cast<T>(
        companion(&kind, []() -> std::shared_ptr<void> { return std::make_shared<T>(); }));
  }

  // Who drives the loops.
  void start();
  // Until nothing is left, `until` has come or goes_on() (null: always) says no. True while something is left.
  bool run(time_point until, const std::function<bool()>* goes_on);
  bool poll();
  [[nodiscard]] int pollable();
  void leave() noexcept;
  void spawn_and_wait(driven_loop& on, task<> t);
  void wait(coro::blocking_signal& ended);
  void shut_down() noexcept;

 private:
  friend class root;
  // One word, so that "nothing left" is one observation: roots, guards and whether stop() was called.
  static constexpr std::uint64_t one_root = 1;
  static constexpr std::uint64_t one_guard = std::uint64_t{1} << 32;
  static constexpr std::uint64_t stop_bit = std::uint64_t{1} << 63;
  static constexpr bool no_roots(std::uint64_t state) noexcept { return (state & (one_guard - 1)) == 0; }
  static constexpr bool finished(std::uint64_t state) noexcept {
    return no_roots(state) && (state < one_guard || (state & stop_bit));
  }
  std::shared_ptr<void> companion(const void* kind, std::shared_ptr<void> (*make)());
  void root_failed(std::exception_ptr error) noexcept;
  void root_ended() noexcept;
  void resident_ended() noexcept;
  void announce() noexcept;
  template <class F>
  void begin_and_wait(F begin, coro::blocking_signal& ended);
  void start_from(std::size_t first);
  bool take_first() noexcept;
  driven_loop& keep_first();
  void let_go_of_first() noexcept;
  void drive_simulated(time_point until, const std::function<bool()>* goes_on);
  bool something_is_left();
  void wait_until_empty() noexcept;
  void drive_what_is_left(bool first) noexcept;
  static bool drain(driven_loop& l) noexcept;
  void thread_main(driven_loop& l) noexcept;

  logger& log_;
  driver* driver_;
  std::vector<std::unique_ptr<backend>> backends_;
  std::vector<std::unique_ptr<driven_loop>> loops_;
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::size_t> residents_{0};
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> leaving_{false};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::vector<bool> driven_;
  std::thread::id holder_;  // the program's thread that drives loop 0, if one does
  int waiters_ = 0;  // threads that wait for a task, and drive nothing
  bool kept_ = false;  // the holder keeps it between calls: see runtime::poll()
  std::vector<std::thread> threads_;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> companions_;
  std::exception_ptr error_;
  blocking_pool pool_;
  fork_guard guard_;
};

}  // namespace coracle::runtime_internal
