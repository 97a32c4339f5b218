// driven_loop: the loop itself: ready queue, mailbox, timers and the turn.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/stall_detector.hpp"
#include "runtime/timer_wheel.hpp"

#include "base/intrusive_queue.hpp"
#include "coracle/runtime/loop.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace coracle::runtime_internal {

// Lives in a runtime_core. Whoever turns it is its thread for that time; between turns it may pass
// to another thread after leave().
class driven_loop final : public loop {
 public:
  driven_loop(runtime& owner, std::size_t index, logger& log, std::unique_ptr<backend> over);
  ~driven_loop();

  void post(coro::work& w) noexcept override;
  void post_next_turn(coro::work& w) noexcept override;
  void at_turn_end(coro::work& w) noexcept override;
  void arm(coro::timer& t, time_point when) noexcept override;
  void disarm(coro::timer& t) noexcept override;
  [[nodiscard]] time_point now() const noexcept override {
    if (waited_) look_at_clock();
    return now_;
  }

  // One turn; its wait ends at `until` or next_deadline(), whichever is sooner, and is skipped
  // while there is work. time_point::min() does not wait.
  void turn_once(time_point until) noexcept;
  // The earliest time at which a timer may be due: `never` without timers. A lower bound, since far
  // timers are known to a coarser step only: a turn at that time may find nothing to fire.
  [[nodiscard]] time_point next_deadline() const noexcept { return timers_.next_deadline(); }
  // Whether a turn would find work without waiting: queued works, mail, hooks or a nudge.
  [[nodiscard]] bool has_ready() const noexcept;
  // The same without the nudge.
  [[nodiscard]] bool has_work() const noexcept { return !idle() || !later_.empty() || !mail_.empty(); }
  // Ends a wait, or makes the next one not wait. Any thread and signal handlers.
  void nudge() noexcept;
  // Asks this loop's roots to stop, at its next turn. Any thread and signal handlers.
  void stop_roots_soon() noexcept;
  // Takes that back. No root and no resident of this loop may be left. Any thread.
  void let_roots_run() noexcept;
  // See backend::pollable(): readable for posts and nudges, too. For the thread that turns it, which turns
  // it again before it waits for anything else.
  [[nodiscard]] int pollable() noexcept;
  // Logs who holds this loop for so long, or longer. Before the first turn.
  void report_stalls(duration limit);
  using executor::take_memory_from;
  [[nodiscard]] loop_counters counters() const noexcept;
  // Called by the thread that has been driving when it stops driving.
  void leave() noexcept { backend_->leave(); }

 private:
  void heed_stop() noexcept;
  void run_works() noexcept;
  void run_ready(std::size_t& budget) noexcept;
  void run_hooks() noexcept;
  [[nodiscard]] stall_detector* stalls() noexcept { return stalls_ ? &*stalls_ : nullptr; }
  [[nodiscard]] bool idle() const noexcept { return ready_.empty() && at_end_.empty(); }

  void look_at_clock() const noexcept;

  std::unique_ptr<backend> backend_;
  mutable time_point now_;
  mutable bool waited_ = false;  // now_ may be from before a wait: the first completion that asks looks again
  base::intrusive_queue<coro::work> ready_;
  base::intrusive_queue<coro::work> later_;  // for the next turn
  base::intrusive_queue<coro::work> at_end_;
  timer_wheel timers_;
  std::optional<stall_detector> stalls_;
  bool roots_stopped_ = false;
  std::uint64_t resumes_ = 0;
  std::uint64_t letters_ = 0;
  // Written by other threads, kept off the lines above.
  alignas(64) mailbox mail_;
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> nudged_{false};
  std::atomic<bool> stop_asked_{false};
};

}  // namespace coracle::runtime_internal
