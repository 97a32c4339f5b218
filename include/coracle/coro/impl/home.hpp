// home: the owner executor of a primitive (a mutex, a queue, ...).
#pragma once

#include "coracle/coro/executor.hpp"

#include <atomic>
#include <cstdint>

namespace coracle::coro {

// Holds the owner of a primitive: the executor that the primitive was made on, or that it was given. If it
// was made on a plain thread and was given none, the owner is the first executor that calls is_here(). The
// owner does not change after that. All functions are thread-safe: any thread may call them.
//
// Runnables that are posted before there is an owner are kept, and run when it is found. If none is ever
// found, run_left_over() runs them.
class home {
 public:
  home() noexcept : at_(here() ? here() : nowhere) {}
  explicit home(executor& e) noexcept : at_(reinterpret_cast<std::uintptr_t>(&e)) {}
  home(const home&) = delete;
  home& operator=(const home&) = delete;

  // Returns whether the caller runs on the owner. Costs one relaxed load, and one load of a thread-local
  // variable.
  [[nodiscard]] bool is_here() noexcept {
    const std::uintptr_t at = at_.load(std::memory_order_relaxed);
    return at == here() || ((at & nowhere) && settle_here());
  }
  // Returns the owner; null while there is none.
  [[nodiscard]] executor* where() const noexcept;
  // Runs `w` on the owner. Does not access this object once `w` may run.
  void post(work& w) noexcept;
  // Makes `e` the owner if there is none yet. Returns whether `e` is the owner.
  bool settle_at(executor& e) noexcept;
  // Runs the runnables that found no owner. For the destructor of the primitive.
  void run_left_over() noexcept;

 private:
  // If the lowest bit is set, there is no owner yet; the other bits are then the list of posted runnables,
  // newest first.
  static constexpr std::uintptr_t nowhere = 1;
  static std::uintptr_t here() noexcept { return reinterpret_cast<std::uintptr_t>(executor::current()); }
  bool settle_here() noexcept;
  static work* oldest_first(std::uintptr_t posted) noexcept;
  std::atomic<std::uintptr_t> at_;
};

}  // namespace coracle::coro
