#include "runtime/runtime_core.hpp"

#include "runtime/root.hpp"

#include <string>
#include <utility>

namespace coracle::runtime_internal {

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

void runtime_core::take_memory_from(std::pmr::memory_resource& resource) noexcept {
  for (const std::unique_ptr<driven_loop>& l : loops_) l->take_memory_from(resource);
}

std::shared_ptr<void> runtime_core::companion(const void* kind, std::shared_ptr<void> (*make)()) {
  const std::lock_guard lock(mutex_);
  for (const auto& [its_kind, held] : companions_)
    if (its_kind == kind) return held;
  return companions_.emplace_back(kind, make()).second;
}

driven_loop& runtime_core::next() noexcept {
  if (loops_.size() == 1) return *loops_[0];
  return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()];
}

void runtime_core::spawn(driven_loop& on, task<> t, coro::blocking_signal* ended) {
  guard_.check();
  CORACLE_REQUIRE(t.valid(), "spawned a task that is empty or has ended: a task is spawned or awaited once");
  auto* r = new root(*this, on, std::move(t), ended, false);
  state_.fetch_add(one_root, std::memory_order_relaxed);
  on.post(*r);
}

void runtime_core::spawn_resident(driven_loop& on, task<> t) {
  auto* r = new root(*this, on, std::move(t), nullptr, true);
  residents_.fetch_add(1, std::memory_order_relaxed);
  on.post(*r);
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

// Loops that have not seen the stop yet see nothing of it. The roots that come after this do not see it
// either: a loop looks at the flag after it has taken its mail.
void runtime_core::restart() {
  coro::refuse_to_block_an_executor();
  if (!stopping()) return;
  CORACLE_ASSERT(no_roots(state_.load(std::memory_order_acquire)),
                 "restart() comes after the roots have ended: let run() return first");
  wait_until_empty();
  for (const std::unique_ptr<driven_loop>& l : loops_) l->let_roots_run();
  state_.fetch_and(~stop_bit, std::memory_order_acq_rel);
}

}  // namespace coracle::runtime_internal
