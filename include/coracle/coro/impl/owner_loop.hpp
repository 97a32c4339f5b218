// owner_loop: the owner executor of a primitive (a mutex, a queue, ...).
#pragma once

#include "coracle/coro/executor.hpp"

#include <atomic>
#include <cstdint>

namespace coracle::coro {

// Holds the owner of a primitive: the executor that the primitive was made on, or that it was given. If it
// was made on a plain thread and was given none, the owner is the first executor that calls is_current(). The
// owner does not change after that. All functions are thread-safe: any thread may call them.
//
// Runnables that are posted before there is an owner are kept, and run when it is found. If none is ever
// found, run_unowned() runs them.
class owner_loop {
 public:
  owner_loop() noexcept : at_(here() ? here() : unbound) {}
  explicit owner_loop(executor& e) noexcept : at_(reinterpret_cast<std::uintptr_t>(&e)) {}
  owner_loop(const owner_loop&) = delete;
  owner_loop& operator=(const owner_loop&) = delete;

  // Returns whether the caller runs on the owner. Costs one relaxed load, and one load of a thread-local
  // variable.
  [[nodiscard]] bool is_current() noexcept {
    const std::uintptr_t at = at_.load(std::memory_order_relaxed);
    return at == here() || ((at & unbound) && bind_here());
  }
  // Returns the owner; null while there is none.
  [[nodiscard]] executor* where() const noexcept;
  // Runs `w` on the owner. Does not access this object once `w` may run.
  void post(runnable& w) noexcept;
  // Makes `e` the owner if there is none yet. Returns whether `e` is the owner.
  bool bind_to(executor& e) noexcept;
  // Runs the runnables that found no owner. For the destructor of the primitive.
  void run_unowned() noexcept;

 private:
  // If the lowest bit is set, there is no owner yet; the other bits are then the list of posted runnables,
  // newest first.
  static constexpr std::uintptr_t unbound = 1;
  static std::uintptr_t here() noexcept { return reinterpret_cast<std::uintptr_t>(executor::current()); }
  bool bind_here() noexcept;
  static runnable* in_posted_order(std::uintptr_t posted) noexcept;
  std::atomic<std::uintptr_t> at_;
};

}  // namespace coracle::coro
