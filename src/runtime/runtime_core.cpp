#include "runtime/runtime_core.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "runtime/offload.hpp"

#include <pthread.h>
#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

namespace coracle::runtime_internal {

runtime_core::runtime_core(std::vector<std::unique_ptr<backend>> backends, logger& log,
                           std::size_t blocking_threads, driver* by, bool own_threads)
    : log_(log),
      driver_(by),
      own_threads_(own_threads),
      backends_(std::move(backends)),
      driven_(backends_.size()),
      pool_(blocking_threads) {}

runtime_core::~runtime_core() = default;

void runtime_core::set_owner(runtime& owner) {
  for (std::unique_ptr<backend>& b : backends_)
    loops_.push_back(std::make_unique<driven_loop>(owner, loops_.size(), log_, std::move(b)));
  backends_.clear();
}

void runtime_core::use_memory_resource(std::pmr::memory_resource& resource) noexcept {
  for (const std::unique_ptr<driven_loop>& l : loops_) l->use_memory_resource(resource);
}

std::shared_ptr<companion> runtime_core::companion_of(const void* kind,
                                                      std::shared_ptr<companion> (*make)()) {
  const std::lock_guard lock(mutex_);
  for (const auto& [its_kind, held] : companions_)
    if (its_kind == kind) return held;
  return companions_.emplace_back(kind, make()).second;
}

void runtime_core::notify_companions() noexcept {
  std::vector<std::pair<const void*, std::shared_ptr<companion>>> all;
  {
    const std::lock_guard lock(mutex_);
    all = companions_;
  }
  for (const auto& [kind, held] : all) held->runtime_ended();
}

driven_loop& runtime_core::next() noexcept {
  if (loops_.size() == 1) return *loops_[0];
  return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

void runtime_core::spawn(driven_loop& on, task<> t, coro::blocking_signal* ended) {
  CORACLE_REQUIRE(t.valid(), "spawned a task that is empty or has ended: a task is spawned or awaited once");
  auto* r = new root(*this, on, std::move(t), ended, false);
  add_root();
  on.post(*r);
}

void runtime_core::spawn_service(driven_loop& on, task<> t) {
  auto* r = new root(*this, on, std::move(t), nullptr, true);
  services_.fetch_add(1, std::memory_order_relaxed);
  on.post(*r);
}

void runtime_core::root_failed(std::exception_ptr error) noexcept {
  std::string text = "unknown exception";
  try {
    std::rethrow_exception(error);
  } catch (const coro::cancelled&) {
    if (stopping()) return;  // it ended because of the stop
    text = "coro::cancelled without a stop request";
  } catch (const std::exception& e) {
    text = e.what();
  } catch (...) {
  }
  log_.write(log_room::runtime, log_level::error,
             "an exception escaped from a root task, and the runtime stops: " + text);
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  stop();
}

void runtime_core::end_root() noexcept {
  state_.fetch_sub(one_root, std::memory_order_acq_rel);
  notify_if_finished();
}

void runtime_core::release() noexcept {
  state_.fetch_sub(one_guard, std::memory_order_acq_rel);
  notify_if_finished();
}

void runtime_core::service_ended() noexcept {
  if (services_.fetch_sub(1, std::memory_order_acq_rel) == 1) notify_waiters();
}

void runtime_core::notify_if_finished() noexcept {
  if (finished()) notify_waiters();
}

void runtime_core::notify_waiters() noexcept {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  loops_[0]->interrupt();  // also inside its own turn, which would sleep otherwise
}

// Signal handlers may call this: it uses only atomics and a write to an eventfd. The loops announce the end
// when they observe the stop.
void runtime_core::stop() noexcept {
  state_.fetch_or(stop_bit, std::memory_order_acq_rel);
  for (const std::unique_ptr<driven_loop>& l : loops_) l->request_root_stop();
}

// Loops that have not observed the stop yet will not do so any more. Roots that are spawned after this do not
// observe it either: a loop checks the flag after it has taken its mail.
void runtime_core::restart() {
  coro::require_no_executor();
  if (!stopping()) return;
  CORACLE_ASSERT(no_roots(state_.load(std::memory_order_acquire)),
                 "restart() before the root tasks have ended: let run() return first");
  wait_until_empty();
  for (const std::unique_ptr<driven_loop>& l : loops_) l->cancel_root_stop();
  state_.fetch_and(~stop_bit, std::memory_order_acq_rel);
}

namespace {

// The number of forks between the program's first process and this one, plus one.
std::atomic<unsigned> forks{1};

void count_forks() noexcept {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

}  // namespace

void fork_guard::driven() noexcept {
  if (forks_before_.load(std::memory_order_relaxed) != 0) return;
  count_forks();
  forks_before_.store(forks.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

bool fork_guard::in_child() const noexcept {
  const unsigned before = forks_before_.load(std::memory_order_relaxed);
  return before != 0 && before != forks.load(std::memory_order_relaxed);
}

void fork_guard::check() const noexcept {
  CORACLE_ASSERT(
      !in_child(),
      "a child of fork() uses a runtime of its parent: fork before it runs, construct another in the "
      "child, or leave the child by exec() or _exit()");
}

root::root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended,
           bool loop_service) noexcept
    : core_(core), frame_(t.release()), ended_(ended), service_(loop_service) {
  run = [](coro::runnable& w) noexcept {
    const auto frame = static_cast<root&>(w).frame_;
    coro::promise_base::begin(frame, frame.promise());
  };
  frame_.promise().inherit(on.environment());
  frame_.promise().set_completion(*this);
}

std::coroutine_handle<> root::finished(coro::promise_base& promise, std::coroutine_handle<> frame) noexcept {
  if (std::exception_ptr error = static_cast<coro::task_promise<void>&>(promise).error())
    core_.root_failed(std::move(error));
  frame.destroy();
  runtime_core& core = core_;
  coro::blocking_signal* ended = ended_;
  const bool loop_service = service_;
  delete this;
  if (loop_service) core.service_ended();
  else core.end_root();
  if (ended) ended->set();
  return std::noop_coroutine();
}

// --- driving the loops

namespace {

// How long a loop may wait for its I/O while other loops need the same thread.
constexpr duration shared_turn = std::chrono::milliseconds(1);

// Converts to the clock of the kernel backends, the steady clock.
std::chrono::steady_clock::time_point steady(time_point when) noexcept {
  return std::chrono::steady_clock::time_point(when.time_since_epoch());
}

}  // namespace

void runtime_core::start_from(std::size_t first) {
  if (!own_threads_) return;
  for (std::size_t i = first; i < loops_.size(); ++i) {
    if (driven_[i]) continue;
    guard_.driven();
    threads_.push_back(start_thread("coracle/" + std::to_string(i), [this, i] { thread_main(*loops_[i]); }));
    driven_[i] = true;
  }
}

void runtime_core::thread_main(driven_loop& l) noexcept {
  while (!shutting_down_.load(std::memory_order_acquire)) l.run_once(never);
  drain(l);
  l.release_thread();
}

// Executes the runnables that the last roots posted while they ended. Bounded, since runnables that repost
// themselves indefinitely have no owner any more.
bool runtime_core::drain(driven_loop& l) noexcept {
  int turns = 0;
  for (; l.has_work() && turns < 1000; ++turns) l.run_once(time_point::min());
  return turns > 0;
}

void runtime_core::start() {
  if (driver_) return;
  guard_.check();
  const std::lock_guard lock(mutex_);
  start_from(0);
}

// Call it under the mutex. Returns true when this thread drives loop 0 from now on.
bool runtime_core::try_acquire_first_loop() noexcept {
  if (driven_[0].exchange(true)) return holder_ == std::this_thread::get_id();
  guard_.driven();
  holder_ = std::this_thread::get_id();
  return true;
}

// Called at the end of run() and similar functions.
void runtime_core::release_first_loop() noexcept {
  if (!keeps_first_loop_) release_loop();
}

void runtime_core::release_loop() noexcept {
  if (driver_) return;
  const std::lock_guard lock(mutex_);
  CORACLE_ASSERT(holder_ == std::this_thread::get_id(),
                 "release_loop() from a thread that does not drive loop 0 by poll() or pollable()");
  loops_[0]->release_thread();
  driven_[0] = false;
  holder_ = {};
  keeps_first_loop_ = false;
  // waiters need a driven loop
  if (waiters_ > 0 && !shutting_down_.load(std::memory_order_acquire)) start_from(0);
  changed_.notify_all();
}

driven_loop& runtime_core::keep_first_loop() {
  coro::require_no_executor();
  require_own_threads();
  guard_.check();
  const std::lock_guard lock(mutex_);
  start_from(1);
  CORACLE_ASSERT(
      try_acquire_first_loop(),
      "two threads drive one loop: call poll() on the first, or let it call release_loop() before");
  keeps_first_loop_ = true;
  return *loops_[0];
}

bool runtime_core::poll() {
  if (driver_) {
    coro::require_no_executor();
    for (const std::unique_ptr<driven_loop>& l : loops_) l->run_once(time_point::min());
  } else {
    keep_first_loop().run_available();
  }
  return has_unfinished_tasks();
}

int runtime_core::pollable() {
  CORACLE_ASSERT(!driver_, "a simulated runtime has no descriptor: its world drives it");
  const int found = keep_first_loop().pollable();
  if (found < 0)
    throw status_error(
        status::resource_exhausted("no file descriptor left for pollable(): raise the limit (ulimit -n)"));
  return found;
}

bool runtime_core::has_unfinished_tasks() {
  if (!finished()) return true;
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = std::exchange(error_, nullptr);
  }
  if (error) std::rethrow_exception(error);
  return false;
}

bool runtime_core::run(time_point until, const std::function<bool()>* keep_going) {
  coro::require_no_executor();
  if (driver_) {
    drive_simulated(until, keep_going);
    return has_unfinished_tasks();
  }
  require_own_threads();
  guard_.check();
  std::unique_lock lock(mutex_);
  start_from(1);
  while (!try_acquire_first_loop()) {
    CORACLE_ASSERT(!keep_going, "two threads drive one loop: run_while() drives loop 0, which has a thread");
    bool in_time = true;
    const auto changed = [this] { return finished() || !driven_[0]; };
    if (until == never) changed_.wait(lock, changed);
    else in_time = changed_.wait_until(lock, steady(until), changed);
    if (in_time && !finished()) continue;  // the thread that drove the loop has left early
    lock.unlock();
    return has_unfinished_tasks();
  }
  lock.unlock();
  driven_loop& first = *loops_[0];
  while (!finished() && first.now() < until && (!keep_going || (*keep_going)())) first.run_once(until);
  release_first_loop();
  return has_unfinished_tasks();
}

void runtime_core::require_own_threads() const {
  CORACLE_REQUIRE(own_threads_, "a runtime with own_threads = false is driven by run_loop() alone");
}

void runtime_core::run_loop(driven_loop& which, const std::function<bool()>& keep_going) {
  coro::require_no_executor();
  CORACLE_REQUIRE(!own_threads_, "run_loop() is for a runtime that was made with own_threads = false");
  guard_.check();
  guard_.driven();
  CORACLE_ASSERT(!driven_[which.index()].exchange(true, std::memory_order_acq_rel),
                 "two threads drive one loop: let run_loop() return on the first");
  while (keep_going()) which.run_once(never);
  which.release_thread();
  driven_[which.index()].store(false, std::memory_order_release);
}

void runtime_core::drive_simulated(time_point until, const std::function<bool()>* keep_going) {
  struct condition {
    const runtime_core& core;
    time_point until;
    const std::function<bool()>* keep_going;
  } const given{*this, until, keep_going};
  coro::timer alarm;  // moves the world's clock to `until` and causes a turn of loop 0
  alarm.fire = [](coro::timer&) noexcept {};
  if (until != never) loops_[0]->arm(alarm, until);
  driver_->drive(
      [](const void* c) noexcept {
        const auto& [core, when, on] = *static_cast<const condition*>(c);
        return core.finished() || core.loops_[0]->now() >= when || (on && !(*on)());
      },
      &given);
  loops_[0]->disarm(alarm);
}

void runtime_core::spawn_and_wait(driven_loop& on, task<> t) {
  coro::blocking_signal ended;
  begin_and_wait([&] { spawn(on, std::move(t), &ended); }, ended);
}

void runtime_core::wait(coro::blocking_signal& ended) {
  begin_and_wait([] {}, ended);
}

template <class F>
void runtime_core::begin_and_wait(F begin, coro::blocking_signal& ended) {
  if (driver_) {
    begin();
    driver_->drive(
        [](const void* s) noexcept { return static_cast<const coro::blocking_signal*>(s)->is_set(); },
        &ended);
    return;
  }
  guard_.check();
  CORACLE_REQUIRE(!shutting_down_.load(std::memory_order_acquire), "the runtime has ended");
  std::unique_lock lock(mutex_);
  const bool drives_first = keeps_first_loop_ && holder_ == std::this_thread::get_id();
  start_from(drives_first ? 1 : 0);  // comes first, because it throws where no thread can be started
  begin();
  if (drives_first) {
    lock.unlock();
    ended.call_when_set([](void* l) noexcept { static_cast<driven_loop*>(l)->interrupt(); }, loops_[0].get());
    while (!ended.is_set()) loops_[0]->run_once(never);
    return;
  }
  ++waiters_;  // prevents a run_until() that ends meanwhile from leaving its loop undriven
  lock.unlock();
  hold();  // prevents a run() from ending
  ended.wait();
  release();
  lock.lock();
  --waiters_;
}

void runtime_core::wait_until_empty() noexcept {
  if (driver_) {
    driver_->drive([](const void* c) noexcept { return static_cast<const runtime_core*>(c)->empty(); }, this);
    return;
  }
  std::unique_lock lock(mutex_);
  try {
    if (!empty()) start_from(1);  // only loop 0 may be left to this thread: loops may wait for each other
  } catch (const std::exception&) {  // no thread can be started: this thread drives the other loops, too
  }
  const bool first = try_acquire_first_loop();
  CORACLE_ASSERT(first || !keeps_first_loop_,
                 "two threads drive one loop: let the one that called poll() call release_loop() before");
  if (first || (!empty() && std::find(driven_.begin(), driven_.end(), false) != driven_.end())) {
    lock.unlock();
    drive_remaining(first);
    if (first) release_first_loop();
  } else {
    changed_.wait(lock, [this] { return empty(); });
  }
}

// Alternates between the loops that have no thread, including loop 0 if this thread drives it.
void runtime_core::drive_remaining(bool first) noexcept {
  const auto others = std::count(driven_.begin() + 1, driven_.end(), false);
  const bool alone = first && others == 0;
  while (!empty())
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      if (i == 0 ? !first : driven_[i].load()) continue;
      loops_[i]->run_once(alone ? never : deadline_after(loops_[i]->now(), shared_turn));
    }
  for (std::size_t i = 1; i < loops_.size(); ++i)
    if (!driven_[i]) loops_[i]->release_thread();
}

void runtime_core::shut_down() noexcept {
  CORACLE_ASSERT(!coro::executor::current(), "a runtime is destroyed by a thread that drives no loop");
  guard_.check();
  stop();
  wait_until_empty();
  notify_companions();
  if (!driver_) {
    shutting_down_.store(true, std::memory_order_release);
    for (const std::unique_ptr<driven_loop>& l : loops_) l->interrupt();
    for (std::thread& t : threads_) t.join();
    if (keeps_first_loop_) release_loop();
    for (const std::unique_ptr<driven_loop>& l : loops_)
      if (drain(*l)) l->release_thread();
  }
  pool_.join();
}

}  // namespace coracle::runtime_internal
