// loop: one thread's share of a runtime. It runs work, fires timers and waits for I/O.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop_counters.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace coracle {

class runtime;
namespace runtime_internal {
class backend;  // private: src/runtime/backend.hpp
}

// Owned by its runtime and as long-lived; made by nothing else. Driven by at most one thread at a
// time: the one in runtime::run(), a thread of the runtime's, or a simulation.
//
// Threads: post(), owner(), index(), log() and backend_name() may be called from any thread;
// everything else only on the loop, that is from a coroutine, timer or work that it runs.
//
// A turn runs queued work (at most a budget of works and time, so that busy work cannot starve I/O), then the hooks
// of at_turn_end(), then submits and waits once, delivers completions and fires timers. There is
// one system call a turn on io_uring.
class loop : public coro::executor {
 public:
  // The loop that this thread drives at the moment; null on plain threads and under other executors.
  [[nodiscard]] static loop* current() noexcept;

  // From coro::executor, with these additions:
  //   post(w)         on the loop: to the end of its queue; elsewhere: through a lock-free mailbox, waking the
  //                   loop at most once per sleep. Works of one thread run in the order they were posted in.
  //   post_next_turn(w)  after I/O and timers had a turn of theirs.
  //   at_turn_end(w)  hooks run in order; work that they post still runs in this turn, within bounds.
  //   arm(t, when)    never fires early; arming an armed timer moves it. `never` is allowed.
  //   now()           the time when the current turn began or its I/O was collected, whichever is later.

  [[nodiscard]] runtime& owner() const noexcept { return owner_; }
  // Its place in the runtime: 0 <= index() < owner().size().
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] logger& log() const noexcept { return log_; }
  // The date and time of day, read anew: for logs and certificates. It jumps, forward and back, whenever somebody
  // sets the clock; timers and deadlines go by now(), and notice nothing. Of the simulated host in sim.
  [[nodiscard]] std::chrono::system_clock::time_point wall_now() const noexcept;
  // "io_uring", "epoll" or "sim".
  [[nodiscard]] std::string_view backend_name() const noexcept;

  // What it has done so far. On the loop, or while nobody drives it: nothing here is atomic. From elsewhere,
  // send a task there that reads it.
  [[nodiscard]] loop_counters counted() const noexcept;

  // What root tasks of this loop inherit: stops when the runtime stops.
  [[nodiscard]] const coro::environment& environment() const noexcept { return environment_; }

  // The library's own way to do I/O; its header is private.
  [[nodiscard]] coracle::runtime_internal::backend& io() noexcept { return backend_; }

 protected:
  loop(runtime& owner, std::size_t index, logger& log, coracle::runtime_internal::backend& backend) noexcept;
  ~loop() = default;
  void stop_roots() noexcept { stop_->request_stop(); }
  void renew_roots() noexcept { stop_.emplace(); }

 private:
  static const char kind_;
  runtime& owner_;
  std::size_t index_;
  logger& log_;
  coracle::runtime_internal::backend& backend_;
  std::optional<coro::stop_source> stop_;
  coro::environment environment_;
};

}  // namespace coracle
