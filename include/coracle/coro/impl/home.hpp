// home: the executor that a primitive (a mutex, a channel, ...) lives on.
#pragma once

#include "coracle/coro/executor.hpp"

#include <atomic>
#include <cstdint>

namespace coracle::coro {

// The executor that it was made on, or was given; made on a plain thread without one, the first
// executor that asks is_here(). It does not change after that. Any thread may call everything.
//
// Works that are posted before there is a home are kept, and run when it is found. If it never is, they
// run in run_left_over().
class home {
 public:
  home() noexcept : at_(here() ? here() : nowhere) {}
  explicit home(executor& e) noexcept : at_(reinterpret_cast<std::uintptr_t>(&e)) {}
  home(const home&) = delete;
  home& operator=(const home&) = delete;

  // Whether the caller runs there. One relaxed load, one of a thread-local.
  [[nodiscard]] bool is_here() noexcept {
    const std::uintptr_t at = at_.load(std::memory_order_relaxed);
    return at == here() || ((at & nowhere) && settle_here());
  }
  // Null while there is none.
  [[nodiscard]] executor* where() const noexcept;
  // Runs `w` there. Nothing of the home is touched once `w` may run.
  void post(work& w) noexcept;
  // Makes it its home, if it has none yet; true if it is.
  bool settle_at(executor& e) noexcept;
  // At its owner's end: the works that found no home run here.
  void run_left_over() noexcept;

 private:
  // The lowest bit: there is no home yet. The other bits are then the works that were posted, newest first.
  static constexpr std::uintptr_t nowhere = 1;
  static std::uintptr_t here() noexcept { return reinterpret_cast<std::uintptr_t>(executor::current()); }
  bool settle_here() noexcept;
  static work* oldest_first(std::uintptr_t posted) noexcept;
  std::atomic<std::uintptr_t> at_;
};

}  // namespace coracle::coro
