#include "runtime/runtime_core.hpp"

#include "runtime/thread_start.hpp"

#include <string>
#include <utility>

namespace coracle::io {

// A task that nobody awaits, from spawn() to its end.
class runtime_core::root final : public coro::work, coro::completion {
 public:
  root(runtime_core& core, driven_loop& on, task<> t, coro::blocking_signal* ended, bool resident) noexcept
      : core_(core), frame_(t.release()), ended_(ended), resident_(resident) {
    run = [](coro::work& w) noexcept {
      const auto frame = static_cast<root&>(w).frame_;
      coro::promise_base::begin(frame, frame.promise());
    };
    frame_.promise().inherit(on.environment());
    frame_.promise().set_completion(*this);
  }

 private:
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override {
    if (std::exception_ptr error = static_cast<coro::task_promise<void>&>(promise).error())
      core_.root_failed(std::move(error));
    frame.destroy();
    runtime_core& core = core_;
    coro::blocking_signal* ended = ended_;
    const bool resident = resident_;
    delete this;
    if (resident) core.resident_ended();
    else core.root_ended();
    if (ended) ended->set();
    return std::noop_coroutine();
  }
  runtime_core& core_;
  task<>::handle frame_;
  coro::blocking_signal* ended_;
  bool resident_;
};

runtime_core::runtime_core(std::vector<std::unique_ptr<backend>> backends, logger& log,
                           std::size_t blocking_threads, driver* by)
    : log_(log),
      driver_(by),
      backends_(std::move(backends)),
      driven_(backends_.size(), false),
      pool_(blocking_threads) {}

runtime_core::~runtime_core() = default;

void runtime_core::belong_to(runtime& owner) {
  for (std::unique_ptr<backend>& b : backends_)
    loops_.push_back(std::make_unique<driven_loop>(owner, loops_.size(), log_, std::move(b)));
  backends_.clear();
}

driven_loop& runtime_core::next() noexcept {
  return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

void runtime_core::spawn(driven_loop& on, task<> t, coro::blocking_signal* ended) {
  CORACLE_ASSERT(t.valid(), "spawned an empty task");
  root* r = new root(*this, on, std::move(t), ended, false);
  state_.fetch_add(one_root, std::memory_order_relaxed);
  on.post(*r);
}

void runtime_core::spawn_resident(driven_loop& on, task<> t) {
  root* r = new root(*this, on, std::move(t), nullptr, true);
  residents_.fetch_add(1, std::memory_order_relaxed);
  on.post(*r);
}

void runtime_core::wait(coro::blocking_signal& ended) {
  if (driver_) {
    driver_->drive(
        [](const void* s) noexcept { return static_cast<const coro::blocking_signal*>(s)->is_set(); },
        &ended);
    return;
  }
  start();
  hold();  // or a run() that ends meanwhile would leave its loop undriven
  ended.wait();
  release();
}

void runtime_core::root_failed(std::exception_ptr error) noexcept {
  std::string text = "unknown exception";
  try {
    std::rethrow_exception(error);
  } catch (const coro::cancelled&) {
    if (stopping()) return;  // it ended as it was told to
    text = "coro::cancelled, though nothing stopped it";
  } catch (const std::exception& e) {
    text = e.what();
  } catch (...) {
  }
  log_.write(log_level::error, "an exception escaped from a root task, the runtime stops: " + text);
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  stop();
}

void runtime_core::root_ended() noexcept {
  state_.fetch_sub(one_root, std::memory_order_acq_rel);
  announce_if_finished();
}

void runtime_core::release() noexcept {
  state_.fetch_sub(one_guard, std::memory_order_acq_rel);
  announce_if_finished();
}

void runtime_core::resident_ended() noexcept {
  if (residents_.fetch_sub(1, std::memory_order_acq_rel) == 1) announce();
}

void runtime_core::announce_if_finished() noexcept {
  if (finished()) announce();
}

void runtime_core::announce() noexcept {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  loops_[0]->nudge();  // also from its own turn, which would go on to sleep
}

// Also called by signal handlers: nothing but atomics and a write to an eventfd. The loops make
// the announcement when they see it.
void runtime_core::stop() noexcept {
  state_.fetch_or(stop_bit, std::memory_order_acq_rel);
  for (const std::unique_ptr<driven_loop>& l : loops_) l->stop_roots_soon();
}

void runtime_core::start_from(std::size_t first) {
  for (std::size_t i = first; i < loops_.size(); ++i) {
    if (driven_[i]) continue;
    threads_.push_back(start_thread("coracle/" + std::to_string(i), [this, i] { thread_main(*loops_[i]); }));
    driven_[i] = true;
  }
}

void runtime_core::thread_main(driven_loop& l) noexcept {
  while (!leaving_.load(std::memory_order_acquire)) l.turn_once(never);
  drain(l);
  l.leave();
}

// What the last roots posted on their way out; bounded, since works that post themselves for ever have no owner left.
bool runtime_core::drain(driven_loop& l) noexcept {
  int turns = 0;
  for (; l.has_work() && turns < 1000; ++turns) l.turn_once(time_point::min());
  return turns > 0;
}

void runtime_core::start() {
  if (driver_) return;
  const std::lock_guard lock(mutex_);
  start_from(0);
}

void runtime_core::drive_here(driven_loop& l, bool (runtime_core::*until)() const noexcept) noexcept {
  while (!(this->*until)()) l.turn_once(never);
  l.leave();
}

void runtime_core::run() {
  coro::refuse_to_block_an_executor();
  if (driver_) {
    driver_->drive([](const void* c) noexcept { return static_cast<const runtime_core*>(c)->finished(); },
                   this);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return;
  }
  std::unique_lock lock(mutex_);
  start_from(1);
  if (driven_[0]) {
    changed_.wait(lock, [this] { return finished(); });
  } else {
    driven_[0] = true;
    lock.unlock();
    drive_here(*loops_[0], &runtime_core::finished);
    lock.lock();
    driven_[0] = false;
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void runtime_core::shut_down() noexcept {
  CORACLE_ASSERT(!coro::executor::current(), "a runtime is destroyed by a thread that drives no loop");
  stop();
  if (driver_) {
    driver_->drive([](const void* c) noexcept { return static_cast<const runtime_core*>(c)->empty(); }, this);
  } else {
    std::unique_lock lock(mutex_);
    if (!empty()) start_from(1);  // only loop 0 may be left to this thread: loops may wait for each other
    if (driven_[0]) {
      changed_.wait(lock, [this] { return empty(); });
      lock.unlock();
    } else {
      lock.unlock();
      drive_here(*loops_[0], &runtime_core::empty);
    }
    leaving_.store(true, std::memory_order_release);
    for (const std::unique_ptr<driven_loop>& l : loops_) l->nudge();
    for (std::thread& t : threads_) t.join();
    for (const std::unique_ptr<driven_loop>& l : loops_)
      if (drain(*l)) l->leave();
  }
  pool_.join();
}

}  // namespace coracle::io
