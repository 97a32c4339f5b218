#include "runtime/driven_loop.hpp"

#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

namespace coracle {

const char loop::kind_ = 0;

loop::loop(runtime& owner, std::size_t index, logger& log, coracle::runtime_internal::backend& backend,
           base::event_ring& events) noexcept
    : executor(&kind_),
      now_(backend.now()),
      owner_(owner),
      index_(index),
      log_(log),
      backend_(backend),
      events_(events),
      stop_(std::in_place),
      environment_{stop_->token()} {}

loop* loop::current() noexcept {
  executor* e = executor::current();
  return e && e->kind() == &kind_ ? static_cast<loop*>(e) : nullptr;
}

void loop::read_clock() const noexcept {
  may_be_stale_ = false;
  now_ = std::max(now_, backend_.now());
  events_.set_time(now_);
}

loop_counters loop::stats() const noexcept {
  return static_cast<const coracle::runtime_internal::driven_loop&>(*this).counters();
}

std::chrono::system_clock::time_point loop::wall_now() const noexcept {
  using std::chrono::system_clock;
  return system_clock::time_point(
      std::chrono::duration_cast<system_clock::duration>(std::chrono::nanoseconds(backend_.wall_ns())));
}

std::string_view loop::backend_name() const noexcept { return backend_.name(); }

loop_counters loop_counters::operator-(const loop_counters& before) const noexcept {
  loop_counters d;
  d.turns = turns - before.turns;
  d.resumes = resumes - before.resumes;
  d.remote_posts = remote_posts - before.remote_posts;
  d.timers = timers - before.timers;
  d.submissions = submissions - before.submissions;
  d.completions = completions - before.completions;
  d.system_calls = system_calls - before.system_calls;
  d.frames = frames - before.frames;
  d.heap_blocks = heap_blocks - before.heap_blocks;
  return d;
}

}  // namespace coracle

namespace coracle::runtime_internal {

namespace {
// The number of runnables per turn: enough to amortise the cost of checking for I/O, few enough that the next
// check comes within microseconds when each work is short.
constexpr std::size_t runnables_per_turn = 512;
// The time that long runnables may take per turn, and the number of runnables between clock reads: one read
// costs as much as a few short runnables.
constexpr duration runnables_time = std::chrono::milliseconds(1);
constexpr std::size_t runnables_per_clock_read = 32;
// How many rounds of runnables and hooks one turn executes before it performs I/O.
constexpr int rounds_per_turn = 4;
// How long a foreign event loop is kept by turns that each receive something: long against what its own
// iteration costs, and short against what a callback may take.
constexpr duration visit_time = std::chrono::microseconds(200);
}  // namespace

driven_loop::driven_loop(runtime& owner, std::size_t index, logger& log, std::unique_ptr<backend> over)
    : loop(owner, index, log, *over, ring_),
      backend_(std::move(over)),
      recorded_(ring_, &owner, index, backend_->wall_ns() - backend_->now().time_since_epoch().count()),
      visible_(*this, &owner, index) {}

// What a thread of another runtime has posted may have run, and ended the loop, before that thread's post()
// returns.
driven_loop::~driven_loop() {
  while (posting_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void driven_loop::post(coro::runnable& w) noexcept {
  if (is_current()) return ready_.push(w);
  posting_.fetch_add(1, std::memory_order_relaxed);
  mail_.push(w);
  // This exchange and the one before a sleep are ordered: either the loop sees the mail, or this thread sees
  // that the loop sleeps. The exchange also limits wake-ups to one per sleep, however many threads post.
  if (sleeping_.exchange(false, std::memory_order_acq_rel)) backend_->wake();
  posting_.fetch_sub(1, std::memory_order_release);
}

void driven_loop::post_next_turn(coro::runnable& w) noexcept { later_.push(w); }
void driven_loop::at_turn_end(coro::runnable& w) noexcept { at_end_.push(w); }
void driven_loop::arm(coro::timer& t, time_point when) noexcept { timers_.arm(t, when); }
void driven_loop::disarm(coro::timer& t) noexcept { timers_.disarm(t); }

bool driven_loop::has_ready() const noexcept {
  return has_work() || interrupted_.load(std::memory_order_acquire);
}

void driven_loop::interrupt() noexcept {
  interrupted_.exchange(true, std::memory_order_acq_rel);
  if (sleeping_.exchange(false, std::memory_order_acq_rel)) backend_->wake();
}

void driven_loop::request_root_stop() noexcept {
  stop_requested_.exchange(true, std::memory_order_acq_rel);
  interrupt();
}

void driven_loop::cancel_root_stop() noexcept { stop_requested_.exchange(false, std::memory_order_acq_rel); }

void driven_loop::report_stalls(duration limit) {
  stalls_.emplace(*this, *backend_, limit);
  backend_->report_stalls_to(stalls());
}

// Runs after the mail was taken: a root that was posted after restart() must not observe the earlier stop.
void driven_loop::apply_stop() noexcept {
  const bool requested = stop_requested_.load(std::memory_order_acquire);
  if (requested == roots_stopped_) return;
  roots_stopped_ = requested;
  if (!requested) return renew_roots();
  stop_roots();
  owner().core().notify_if_finished();
}

void driven_loop::run_ready(std::size_t& budget) noexcept {
  while (budget > 0) {
    coro::runnable* w = ready_.pop();
    if (!w) return;
    --budget;
    ++resumes_;
    {
      const stall_detector::watch held(stalls());
      w->run(*w);
    }
    if (budget % runnables_per_clock_read == 0 && backend_->now() - now_ > runnables_time) budget = 0;
  }
}

void driven_loop::run_hooks() noexcept {
  base::intrusive_queue<coro::runnable> hooks;  // what these add waits for the next round
  hooks.take(at_end_);
  while (coro::runnable* w = hooks.pop()) {
    ++resumes_;
    const stall_detector::watch held(stalls());
    w->run(*w);
  }
}

void driven_loop::run_queued() noexcept {
  if (idle()) return;
  now_ = std::max(now_, backend_->now());
  ring_.set_time(now_);
  std::size_t budget = runnables_per_turn;
  for (int round = 0; round < rounds_per_turn && !idle(); ++round) {
    run_ready(budget);
    if (turn_ends()) return;
    run_hooks();
  }
}

void driven_loop::run_once(time_point until) noexcept {
  const entry here(*this);
  // The driver may have checked its condition before the nudge arrived, so it must check again before the
  // loop sleeps.
  const bool interrupted = interrupted_.exchange(false, std::memory_order_acq_rel);
  ready_.take(later_);
  remote_posts_ += mail_.take_all(ready_);
  apply_stop();
  begin_turn();
  const bool queued = !idle();
  run_queued();
  if (turn_ends()) return;
  until =
      idle() && later_.empty() && !interrupted ? std::min(until, timers_.next_deadline()) : time_point::min();
  if (until > now_) {
    sleeping_.exchange(true, std::memory_order_acq_rel);
    if (has_ready()) until = time_point::min();
  } else {
    until = time_point::min();
  }
  may_be_stale_ = true;
  // When the runnables began. Without any, it is from an earlier iteration.
  const time_point began = now_;
  backend_->turn(until);
  sleeping_.exchange(false, std::memory_order_acq_rel);
  // What counts is the time until a sleep, and that since the first handler has read the clock, if one has.
  const bool slept = until != time_point::min();
  time_point handled_from = may_be_stale_ ? never : now_;
  duration took{};
  if (queued && slept) took = std::max(backend_->wait_began() - began, duration::zero());
  else if (queued) handled_from = began;
  read_clock();
  if (handled_from != never) took += now_ - handled_from;
  const std::uint64_t fired = timers_.fired();
  timers_.advance(now_, stalls());
  if (timers_.fired() != fired) [[unlikely]]
    took += backend_->now() - now_;
  iterations_.add(took);
  if (took > base::event_ring::long_iteration_min) [[unlikely]] {
    iterations_.add_stall();
    ring_.long_iteration(index(), took);
  }
}

void driven_loop::run_available() noexcept {
  const time_point end = deadline_after(backend_->now(), visit_time);
  std::uint64_t before = 0;
  do {
    before = backend_->stats().completions;
    run_once(time_point::min());
  } while (backend_->stats().completions != before && now_ < end);
}

// Posts and nudges from here on wake the backend, as if the loop slept, so that the descriptor becomes
// readable.
int driven_loop::pollable() noexcept {
  sleeping_.exchange(true, std::memory_order_acq_rel);
  return backend_->pollable(has_ready() ? time_point::min() : timers_.next_deadline());
}

loop_counters driven_loop::counters() const noexcept {
  CORACLE_ASSERT(is_current() || !executor::current(), "a loop's counters are read on the loop");
  const runtime_internal::counters& of_backend = backend_->stats();
  loop_counters c;
  c.turns = of_backend.turns;
  c.resumes = resumes_;
  c.remote_posts = remote_posts_;
  c.timers = timers_.fired();
  c.submissions = of_backend.submissions;
  c.completions = of_backend.completions;
  c.system_calls = of_backend.system_calls;
  c.frames = frames().stats().frames;
  c.heap_blocks = frames().stats().heap_blocks;
  return c;
}

}  // namespace coracle::runtime_internal
