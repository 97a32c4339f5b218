#include "runtime/driven_loop.hpp"

#include "runtime/runtime_core.hpp"

#include <algorithm>
#include <utility>

namespace coracle::io {

namespace {
// Works a turn: enough to spread the cost of a look at I/O, few enough that it comes within
// microseconds when each of them is short.
constexpr std::size_t works_per_turn = 512;
// How often the hooks of one turn may make new work before I/O gets its chance.
constexpr int rounds_per_turn = 4;
}  // namespace

driven_loop::driven_loop(runtime& owner, std::size_t index, logger& log, std::unique_ptr<backend> over)
    : loop(owner, index, log, *over), backend_(std::move(over)), now_(backend_->now()) {}

driven_loop::~driven_loop() = default;

void driven_loop::post(coro::work& w) noexcept {
  if (is_current()) return ready_.push(w);
  mail_.push(w);
  // This exchange and the one before a sleep are ordered: either the loop sees the mail, or this
  // sees that it sleeps. The exchange also makes it one wake a sleep, whoever else posts.
  if (sleeping_.exchange(false, std::memory_order_acq_rel)) backend_->wake();
}

void driven_loop::at_turn_end(coro::work& w) noexcept { at_end_.push(w); }
void driven_loop::arm(coro::timer& t, time_point when) noexcept { timers_.arm(t, when); }
void driven_loop::disarm(coro::timer& t) noexcept { timers_.disarm(t); }

bool driven_loop::has_ready() const noexcept { return has_work() || nudged_.load(std::memory_order_acquire); }

void driven_loop::nudge() noexcept {
  nudged_.exchange(true, std::memory_order_acq_rel);
  if (sleeping_.exchange(false, std::memory_order_acq_rel)) backend_->wake();
}

void driven_loop::stop_roots_soon() noexcept {
  stop_asked_.exchange(true, std::memory_order_acq_rel);
  nudge();
}

void driven_loop::look_at_clock() const noexcept {
  waited_ = false;
  now_ = std::max(now_, backend_->now());
}

void driven_loop::run_ready(std::size_t& budget) noexcept {
  while (budget > 0) {
    coro::work* w = ready_.pop();
    if (!w) return;
    --budget;
    w->run(*w);
  }
}

void driven_loop::run_hooks() noexcept {
  base::intrusive_queue<coro::work> hooks;  // what these add waits for the next round
  hooks.take(at_end_);
  while (coro::work* w = hooks.pop()) w->run(*w);
}

void driven_loop::turn_once(time_point until) noexcept {
  const entry here(*this);
  nudged_.exchange(false, std::memory_order_acq_rel);
  if (!roots_stopped_ && stop_asked_.load(std::memory_order_acquire)) {
    roots_stopped_ = true;
    stop_roots();
    owner().core().announce_if_finished();
  }
  mail_.take_all(ready_);
  std::size_t budget = works_per_turn;
  if (!idle()) now_ = std::max(now_, backend_->now());
  for (int round = 0; round < rounds_per_turn && !idle(); ++round) {
    run_ready(budget);
    run_hooks();
  }
  until = idle() ? std::min(until, timers_.next_deadline()) : time_point::min();
  if (until > now_) {
    sleeping_.exchange(true, std::memory_order_acq_rel);
    if (has_ready()) until = time_point::min();
  } else {
    until = time_point::min();
  }
  waited_ = true;
  backend_->turn(until);
  sleeping_.exchange(false, std::memory_order_acq_rel);
  look_at_clock();
  timers_.advance(now_);
}

}  // namespace coracle::io
