#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace grpc::internal {

namespace {

// Long beside what a program does with an event, and short beside deadlines and the patience of clients.
constexpr std::chrono::milliseconds period{10};
// A program whose loop was left alone that often gains nothing from driving it.
constexpr std::size_t left_alone_max = 16;
// So many periods in which it was driven make up for one absence.
constexpr std::size_t good_periods_for_one = 64;

// What a thread drove last. Static objects may make calls when this one of their thread is gone.
thread_local bool last_is_gone = false;
struct last_driver {
  std::weak_ptr<queue_driver> driver;
  ~last_driver() { last_is_gone = true; }
};
thread_local last_driver last_of_thread;
thread_local bool watch_of_thread = false;
thread_local bool drives_in_call = false;

std::shared_ptr<queue_driver> last_driven() noexcept {
  return last_is_gone ? nullptr : last_of_thread.driver.lock();
}

}  // namespace

void queue_driver::become_last_of_thread() {
  if (last_is_gone || last_driven().get() == this) return;
  leave_last(true);
  last_of_thread.driver = weak_from_this();
}

void queue_driver::caller_leaves() noexcept { leave_last(false); }

void queue_driver::leave_last(bool for_another) noexcept {
  const std::shared_ptr<queue_driver> last = last_driven();
  if (!last) return;
  last_of_thread.driver.reset();
  if (!last->is_of_process()) return;
  const std::lock_guard lock(last->changing_);
  if (last->by_ == driven_by::caller || last->wanting_ != 0) return;
  last->expected_ = false;
  last->watch_changed_.notify_one();
  // A thread that takes the events of several queues in turn drives none of them.
  if (for_another && ++last->left_alone_ == left_alone_max) last->give_to_watch();
}

bool queue_driver::is_on_watch() noexcept { return watch_of_thread; }

bool queue_driver::is_driven_by_caller() noexcept { return drives_in_call; }

queue_driver::nudge::nudge(queue_driver& d) noexcept
    : runnable{[](runnable& w) noexcept {
        queue_driver& driver = static_cast<nudge&>(w).of;
        // Orders this before the look at the condition, which others change before they look at the flag.
        driver.nudged_.exchange(false, std::memory_order_acq_rel);
        coracle::loop& on = *coracle::loop::current();
        if (driver.alarm_at_ != coracle::never) on.arm(driver.alarm_, driver.alarm_at_);
        else on.disarm(driver.alarm_);
        driver.end_turn_when_done(on);
      }},
      of(d) {}

queue_driver::queue_driver(coracle::loop& of) : loop_(&of), nudge_(*this), watch_([this] { watch(); }) {
  ::pthread_setname_np(watch_.native_handle(), "grpcpp-queue");
}

coracle::time_point queue_driver::now() const noexcept {
  const std::lock_guard lock(changing_);
  coracle::loop* const of = loop_.load();
  return of ? of->owner().now() : coracle::time_point::min();
}

queue_driver::handovers queue_driver::counted() const {
  const std::lock_guard lock(changing_);
  handovers now = handovers_;
  now.on_watch = by_ == driven_by::watch;
  return now;
}

queue_driver::driven queue_driver::drive(const std::function<bool()>& keep_going, coracle::time_point until) {
  become_last_of_thread();
  std::unique_lock lock(changing_);
  if (for_good_) return driven::no;
  if (by_ == driven_by::caller || wanting_ != 0 || coracle::loop::current()) {
    give_to_watch();
    return driven::no;
  }
  if (by_ == driven_by::watch) {
    ++wanting_;
    wake_locked();
    changed_.wait(lock, [this] { return by_ == driven_by::none || for_good_; });
    --wanting_;
    if (for_good_) return driven::no;
  }
  by_ = driven_by::caller;
  expected_ = true;
  tell_left(lock, false);
  alarm_at_ = until;
  if (until != coracle::never) wake_locked();  // arms the alarm, and the first turn does not wait
  lock.unlock();
  coracle::loop& on = *loop_.load();
  const std::uint64_t before = on.stats().turns;
  bool first = true;
  drives_in_call = true;
  run([&] { return !for_good_.load(std::memory_order_acquire) && keep_going(); },
      [&] { return std::exchange(first, false) || until == coracle::never || on.owner().now() < until; });
  drives_in_call = false;
  const bool has_io = on.stats().turns != before;
  lock.lock();
  alarm_at_ = coracle::never;
  ++turns_;
  left();
  if (std::exchange(dormant_, false)) watch_changed_.notify_one();
  return has_io ? driven::with_io : driven::without_io;
}

template <class InTime>
void queue_driver::run(const std::function<bool()>& keep_going, InTime in_time) {
  keep_going_ = &keep_going;
  coracle::loop& on = *loop_.load();
  on.owner().run_loop(on, [&] { return keep_going() && in_time(); });
  keep_going_ = nullptr;
}

void queue_driver::end_turn_when_done(coracle::loop& on) const {
  if (keep_going_ && !(*keep_going_)()) on.end_turn();
}

void queue_driver::give_to_watch() noexcept {
  for_good_ = true;
  watch_changed_.notify_one();
  wake_locked();
}

void queue_driver::left() noexcept {
  by_ = driven_by::none;
  if (for_good_ || wanting_ != 0) changed_.notify_all();
}

void queue_driver::wake() noexcept {
  coracle::loop* const on = loop_.load(std::memory_order_acquire);
  if (on && on->is_current()) return end_turn_when_done(*on);
  const std::lock_guard lock(changing_);
  wake_locked();
}

void queue_driver::wake_locked() noexcept {
  coracle::loop* const on = loop_.load(std::memory_order_acquire);
  if (!on || by_ == driven_by::none) return;  // the next thread looks before it waits
  if (!nudged_.exchange(true, std::memory_order_acq_rel)) on->post(nudge_);
}

void queue_driver::leave_to_watch() {
  std::unique_lock lock(changing_);
  give_to_watch();
  changed_.wait(lock, [this] { return handovers_.for_good || !for_good_; });
  wake_locked();  // disarms the alarm
}

void queue_driver::begin_queue() noexcept {
  const std::lock_guard lock(changing_);
  left_alone_ = 0;
  expected_ = last_driven().get() == this;
  if (!expected_) watch_changed_.notify_one();
}

void queue_driver::end_queue() noexcept {
  const std::lock_guard lock(changing_);
  expected_ = false;
  for_good_ = false;
  wake_locked();
}

void queue_driver::keep_for_process() noexcept { watch_.detach(); }

void queue_driver::when_left(std::function<void(bool)> call) {
  std::unique_lock lock(changing_);
  when_left_ = std::move(call);
  left_ = false;
  if (by_ == driven_by::watch) tell_left(lock, true);
}

void queue_driver::tell_left(std::unique_lock<std::mutex>& lock, bool left) {
  if (std::exchange(left_, left) == left || !when_left_) return;
  lock.unlock();
  when_left_(left);
  lock.lock();
}

void queue_driver::detach() noexcept {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(changing_);
    ended_ = true;
    for_good_ = true;
    watch_changed_.notify_one();
    changed_.notify_all();
    wake_locked();
  }
  watch_.join();
  // The loop still has it if the watch was gone first.
  if (nudged_) run([this] { return nudged_.load(); }, [] { return true; });
  const std::lock_guard lock(changing_);
  loop_.store(nullptr, std::memory_order_release);
}

void queue_driver::drive_for_good(std::unique_lock<std::mutex>& lock) {
  by_ = driven_by::watch;
  handovers_.for_good = true;
  changed_.notify_all();
  tell_left(lock, true);
  lock.unlock();
  run([this] { return for_good_.load(std::memory_order_acquire) && !ended_; }, [] { return true; });
  lock.lock();
  handovers_.for_good = false;
  left();
}

void queue_driver::watch() noexcept {
  watch_of_thread = true;
  std::unique_lock lock(changing_);
  std::size_t seen = turns_;
  while (!ended_) {
    watch_changed_.wait_for(lock, period, [this] { return for_good_ || (!expected_ && wanting_ == 0); });
    if (ended_) return;
    if (for_good_) {
      if (by_ == driven_by::none) drive_for_good(lock);
      else changed_.wait(lock, [this] { return by_ == driven_by::none || !for_good_ || ended_; });
      continue;
    }
    const bool alone = std::exchange(seen, turns_) == turns_ || !expected_;
    if (!alone && ++good_periods_ % good_periods_for_one == 0 && left_alone_ != 0) --left_alone_;
    if (!alone || wanting_ != 0) continue;
    if (by_ == driven_by::caller) {
      dormant_ = true;
      watch_changed_.wait(lock, [this] { return for_good_.load() || !dormant_; });
      continue;
    }
    if (expected_ && ++left_alone_ == left_alone_max) {
      give_to_watch();
      continue;
    }
    ++handovers_.to_watch;
    by_ = driven_by::watch;
    tell_left(lock, true);
    lock.unlock();
    run(
        [this] {
          const std::lock_guard asking(changing_);
          return !for_good_ && wanting_ == 0;
        },
        [] { return true; });
    lock.lock();
    left();
  }
}

}  // namespace grpc::internal
