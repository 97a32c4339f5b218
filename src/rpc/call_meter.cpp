#include "rpc/call_meter.hpp"

#include "coracle/coro/impl/promise.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "runtime/backend.hpp"

namespace coracle::rpc {

call_meter::call_meter(loop& on) : clock_(on.local<call_clock>()), calls_(new child_calls) {
  clock_.add(on);
  since_ = clock_.now();
}

call_meter::~call_meter() {
  clock_.remove(*this);
  if (--calls_->references == 0) delete calls_;
}

void call_meter::begin_run(time_point now) noexcept {
  add_wait(cost_, wait_, now - since_);
  since_ = now;
  blocks_ = coro::frame_pool::count();
  ++cost_.runs;
  runs_ = true;
}

void call_meter::end_run(time_point now) noexcept {
  const coro::frame_pool::counters blocks = coro::frame_pool::count();
  cost_.running += now - since_;
  cost_.frames += blocks.frames - blocks_.frames;
  cost_.heap_blocks += blocks.heap_blocks - blocks_.heap_blocks;
  since_ = now;
  wait_ = waits_for();
  runs_ = false;
}

void call_meter::add_wait(call_cost& to, call_wait kind, duration d) noexcept {
  switch (kind) {
    case call_wait::messages: to.waiting_for_messages += d; return;
    case call_wait::room: to.waiting_for_room += d; return;
    case call_wait::calls: to.waiting_for_calls += d; return;
    case call_wait::other: to.waiting_otherwise += d; return;
  }
}

call_cost call_meter::cost() const noexcept {
  call_cost c = cost_;
  const duration since = clock_.now() - since_;
  if (!runs_) {
    add_wait(c, wait_, since);
    return c;
  }
  const coro::frame_pool::counters blocks = coro::frame_pool::count();
  c.running += since;
  c.frames += blocks.frames - blocks_.frames;
  c.heap_blocks += blocks.heap_blocks - blocks_.heap_blocks;
  return c;
}

void call_clock::add(loop& on) noexcept {
  loop_ = &on;
  if (meters_++ == 0) on.observe_runs(this);
}

void call_clock::remove(call_meter& m) noexcept {
  if (running_ == &m) running_ = nullptr;
  for (run* r = innermost_; r; r = r->outer_)
    if (r->before_ == &m) r->before_ = nullptr;
  if (--meters_ == 0) loop_->observe_runs(nullptr);
}

// The loop's now() stands still during a turn; this one reads the clock.
time_point call_clock::now() const noexcept { return loop_->io().now(); }

void call_clock::switch_to(call_meter* m) noexcept {
  if (m == running_) return;
  const time_point t = now();
  if (running_) running_->end_run(t);
  running_ = m;
  if (m) m->begin_run(t);
}

void call_clock::run::begin(call_meter& of) noexcept {
  clock_ = &of.clock_;
  before_ = clock_->running_;
  outer_ = std::exchange(clock_->innermost_, this);
  clock_->switch_to(&of);
}

void call_clock::run::end() noexcept {
  clock_->innermost_ = outer_;
  clock_->switch_to(before_);
}

// Every node is part of a promise.
void call_clock::resumed(const coro::tree_node& node) noexcept {
  const auto* const served =
      static_cast<const propagated_context*>(static_cast<const coro::promise_base&>(node).inherited().call);
  call_meter* const m = served ? served->meter() : nullptr;
  switch_to(m && &m->clock() == this ? m : nullptr);
}

void child_call::begin(const propagated_context& parent) noexcept {
  call_meter* const m = parent.meter();
  if (!m || of_) return;
  // A handler may make calls on other loops, which must not change what belongs to this one.
  if (!m->clock().on_loop()) return;
  of_ = m->calls_;
  ++of_->references;
  ++of_->open;
}

void child_call::leave() noexcept {
  call_meter::child_calls* const of = std::exchange(of_, nullptr);
  --of->open;
  if (--of->references == 0) delete of;
}

}  // namespace coracle::rpc
