#include "coracle/coro/impl/owner_loop.hpp"

namespace coracle::coro {

executor* owner_loop::where() const noexcept {
  const std::uintptr_t at = at_.load(std::memory_order_acquire);
  return (at & unbound) ? nullptr : reinterpret_cast<executor*>(at);
}

void owner_loop::post(runnable& w) noexcept {
  std::uintptr_t at = at_.load(std::memory_order_acquire);
  while (at & unbound) {
    w.next = reinterpret_cast<runnable*>(at & ~unbound);
    const std::uintptr_t with_it = reinterpret_cast<std::uintptr_t>(&w) | unbound;
    if (at_.compare_exchange_weak(at, with_it, std::memory_order_acq_rel)) return;
  }
  reinterpret_cast<executor*>(at)->post(w);
}

bool owner_loop::bind_here() noexcept {
  executor* e = executor::current();
  return e && bind_to(*e);
}

// The runnables are linked newest first, as they were pushed.
runnable* owner_loop::in_posted_order(std::uintptr_t posted) noexcept {
  runnable* newest = reinterpret_cast<runnable*>(posted & ~unbound);
  runnable* oldest = nullptr;
  while (newest) {
    runnable* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void owner_loop::run_unowned() noexcept {
  const std::uintptr_t at = at_.load(std::memory_order_acquire);
  runnable* oldest = (at & unbound) ? in_posted_order(at) : nullptr;
  while (runnable* w = oldest) {
    oldest = w->next;
    w->run(*w);
  }
}

bool owner_loop::bind_to(executor& e) noexcept {
  const auto there = reinterpret_cast<std::uintptr_t>(&e);
  std::uintptr_t at = at_.load(std::memory_order_acquire);
  do {
    if (!(at & unbound)) return at == there;
  } while (!at_.compare_exchange_weak(at, there, std::memory_order_acq_rel));
  runnable* oldest = in_posted_order(at);
  while (runnable* w = oldest) {
    oldest = w->next;
    // On the owner they run before the call that found it, as they would have if the owner had always been
    // known.
    if (e.is_current()) w->run(*w);
    else e.post(*w);
  }
  return true;
}

}  // namespace coracle::coro
