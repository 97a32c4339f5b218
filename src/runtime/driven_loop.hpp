// driven_loop: the implementation of a loop: ready queue, mailbox, timers and the turn.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/iteration_times.hpp"
#include "runtime/kernel/event_memory.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/stall_detector.hpp"
#include "runtime/timer_wheel.hpp"

#include "base/event_ring.hpp"
#include "base/intrusive_queue.hpp"
#include "coracle/runtime/loop.hpp"
#include "coro/debugger_entry.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::runtime_internal {

// Lives in a runtime_core. The thread that executes its turns is the loop's thread during that time; between
// turns the loop may move to another thread after release_thread().
class driven_loop final : public loop {
 public:
  driven_loop(runtime& owner, std::size_t index, logger& log, std::unique_ptr<backend> over);
  ~driven_loop();

  void post(coro::runnable& w) noexcept override;
  void post_next_turn(coro::runnable& w) noexcept override;
  void at_turn_end(coro::runnable& w) noexcept override;
  void arm(coro::timer& t, time_point when) noexcept override;
  void disarm(coro::timer& t) noexcept override;

  // Executes one turn. Its wait ends at `until` or next_deadline(), whichever is sooner, and is skipped while
  // there is work. time_point::min() does not wait.
  void run_once(time_point until) noexcept;
  // Executes a turn that does not wait, and a few more while each completes something: what that causes is
  // then submitted, and often completed, before a foreign event loop waits, which costs more than a turn.
  void run_available() noexcept;
  // The earliest time at which a timer may be due, or `never` without timers. This is a lower bound, since
  // the times of distant timers are only known at a coarser resolution: a turn at that time may find nothing
  // to fire.
  [[nodiscard]] time_point next_deadline() const noexcept { return timers_.next_deadline(); }
  // Whether a turn would find work without waiting: queued runnables, mail, hooks or a nudge.
  [[nodiscard]] bool has_ready() const noexcept;
  // Like has_ready(), but ignores nudges.
  [[nodiscard]] bool has_work() const noexcept { return !idle() || !later_.empty() || !mail_.empty(); }
  // Ends the current wait, or prevents the next one. Any thread, and signal handlers.
  void interrupt() noexcept;
  // Stops this loop's roots at its next turn. Any thread, and signal handlers.
  void request_root_stop() noexcept;
  // Reverts request_root_stop(). This loop may have no root and no service left. Any thread.
  void cancel_root_stop() noexcept;
  // Implements backend::pollable(); the descriptor also becomes readable for posts and nudges. Only the
  // thread that drives the loop may call it, and it must execute a turn before it waits for anything else.
  [[nodiscard]] int pollable() noexcept;
  // Logs runnables that hold this loop for `limit` or longer. Call it before the first turn.
  void report_stalls(duration limit);
  using executor::use_memory_resource;
  [[nodiscard]] loop_counters counters() const noexcept;
  // The memory that waits to be reused for frames, calls and operations. On the loop.
  [[nodiscard]] std::size_t pool_bytes() const noexcept { return frames().kept_bytes(); }
  // How long the iterations took, without their waits. Runnables that ran before a wait without a timer are
  // not measured, since that wait reads no clock. On the loop.
  [[nodiscard]] const iteration_times& iterations() const noexcept { return iterations_; }
  // Called by the thread that drives the loop when it stops driving.
  void release_thread() noexcept { backend_->release_thread(); }

 private:
  void apply_stop() noexcept;
  void run_queued() noexcept;
  void run_ready(std::size_t& budget) noexcept;
  void run_hooks() noexcept;
  [[nodiscard]] stall_detector* stalls() noexcept { return stalls_ ? &*stalls_ : nullptr; }
  [[nodiscard]] bool idle() const noexcept { return ready_.empty() && at_end_.empty(); }

  std::unique_ptr<backend> backend_;
  event_memory ring_memory_;
  base::event_ring ring_{ring_memory_.records()};
  base::event_ring_entry recorded_;
  base::intrusive_queue<coro::runnable> ready_;
  base::intrusive_queue<coro::runnable> later_;  // for the next turn
  base::intrusive_queue<coro::runnable> at_end_;
  timer_wheel timers_;
  std::optional<stall_detector> stalls_;
  bool roots_stopped_ = false;
  std::uint64_t resumes_ = 0;
  iteration_times iterations_;
  std::uint64_t remote_posts_ = 0;
  coro::debugger_entry visible_;
  // Written by other threads, and therefore on a separate cache line.
  alignas(64) mailbox mail_;
  std::atomic<bool> sleeping_{false};
  std::atomic<std::uint32_t> posting_{0};  // threads in post()
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> stop_requested_{false};
};

}  // namespace coracle::runtime_internal
