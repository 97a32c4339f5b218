#include "coracle/coro/impl/home.hpp"

namespace coracle::coro {

executor* home::where() const noexcept {
  const std::uintptr_t at = at_.load(std::memory_order_acquire);
  return (at & nowhere) ? nullptr : reinterpret_cast<executor*>(at);
}

void home::post(work& w) noexcept {
  std::uintptr_t at = at_.load(std::memory_order_acquire);
  while (at & nowhere) {
    w.next = reinterpret_cast<work*>(at & ~nowhere);
    const std::uintptr_t with_it = reinterpret_cast<std::uintptr_t>(&w) | nowhere;
    if (at_.compare_exchange_weak(at, with_it, std::memory_order_acq_rel)) return;
  }
  reinterpret_cast<executor*>(at)->post(w);
}

bool home::settle_here() noexcept {
  executor* e = executor::current();
  return e && settle_at(*e);
}

// The runnables are linked newest first, as they were pushed.
work* home::oldest_first(std::uintptr_t posted) noexcept {
  work* newest = reinterpret_cast<work*>(posted & ~nowhere);
  work* oldest = nullptr;
  while (newest) {
    work* next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
  }
  return oldest;
}

void home::run_left_over() noexcept {
  const std::uintptr_t at = at_.load(std::memory_order_acquire);
  work* oldest = (at & nowhere) ? oldest_first(at) : nullptr;
  while (work* w = oldest) {
    oldest = w->next;
    w->run(*w);
  }
}

bool home::settle_at(executor& e) noexcept {
  const auto there = reinterpret_cast<std::uintptr_t>(&e);
  std::uintptr_t at = at_.load(std::memory_order_acquire);
  do {
    if (!(at & nowhere)) return at == there;
  } while (!at_.compare_exchange_weak(at, there, std::memory_order_acq_rel));
  work* oldest = oldest_first(at);
  while (work* w = oldest) {
    oldest = w->next;
    // On the owner they run before the call that found it, as they would have if the owner had always been
    // known.
    if (e.is_current()) w->run(*w);
    else e.post(*w);
  }
  return true;
}

}  // namespace coracle::coro
