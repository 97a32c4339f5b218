#include "coracle/coro/block_on.hpp"

#include "coracle/base/usage_error.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>

namespace coracle::coro {

struct blocking_signal::state {
  std::mutex mutex;
  std::condition_variable changed;
  bool set = false;
  void (*on_set)(void*) noexcept = nullptr;
  void* context = nullptr;
};

void require_no_executor() {
  CORACLE_REQUIRE(
      !executor::current(),
      "a thread that drives a loop must not block on a task: co_await it, or block on a plain thread");
}

blocking_signal::blocking_signal() noexcept {
  static_assert(sizeof(state) <= state_bytes && alignof(state) <= alignof(std::max_align_t));
  ::new (static_cast<void*>(state_)) state;
}

blocking_signal::~blocking_signal() { std::destroy_at(&held()); }

blocking_signal::state& blocking_signal::held() const noexcept {
  return *std::launder(reinterpret_cast<state*>(state_));
}

void blocking_signal::set() noexcept {
  state& s = held();
  // Notifies under the lock: the waiter cannot return and destroy the signal before set() no longer uses it.
  const std::lock_guard lock(s.mutex);
  s.set = true;
  s.changed.notify_all();
  if (s.on_set) s.on_set(s.context);
}

void blocking_signal::call_when_set(void (*f)(void* context) noexcept, void* context) noexcept {
  state& s = held();
  const std::lock_guard lock(s.mutex);
  if (s.set) return f(context);
  s.on_set = f;
  s.context = context;
}

void blocking_signal::wait() noexcept {
  state& s = held();
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&s] { return s.set; });
}

bool blocking_signal::is_set() const noexcept {
  state& s = held();
  const std::lock_guard lock(s.mutex);
  return s.set;
}

posted_task::posted_task(task<> t) noexcept : frame_(t.release()) {
  run = [](runnable& w) noexcept {
    const auto frame = static_cast<posted_task&>(w).frame_;
    promise_base::begin(frame, frame.promise());
  };
  frame_.promise().set_completion(*this);
}

std::coroutine_handle<> posted_task::finished(promise_base&, std::coroutine_handle<> frame) noexcept {
  frame.destroy();
  ended.set();
  return std::noop_coroutine();
}

}  // namespace coracle::coro
