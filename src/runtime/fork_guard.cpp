#include "runtime/fork_guard.hpp"

#include "coracle/base/impl/assert.hpp"

#include <pthread.h>

namespace coracle::runtime_internal {

namespace {

// Forks between the program's first process and this one, plus one.
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

void fork_guard::check() const noexcept {
  const unsigned before = forks_before_.load(std::memory_order_relaxed);
  CORACLE_ASSERT(
      before == 0 || before == forks.load(std::memory_order_relaxed),
      "a child of fork() uses a runtime of its parent: fork before it runs, make another in the child, or "
      "leave the child by exec() or _exit()");
}

}  // namespace coracle::runtime_internal
