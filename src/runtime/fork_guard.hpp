// fork_guard: notices that somebody uses a runtime in a child of the process that drives it.
#pragma once

#include <atomic>

namespace coracle::runtime_internal {

// Threads do not come along into a child of fork(), and rings and epoll sets are shared with the parent: a child that
// went on would hang, or take the parent's I/O. One for each runtime; costs a load where it is asked.
class fork_guard {
 public:
  // Threads or descriptors belong to this process from now on.
  void driven() noexcept;
  // Aborts in a child of the process that called driven().
  void check() const noexcept;

 private:
  std::atomic<unsigned> forks_before_{0};  // 0: nothing to guard yet
};

}  // namespace coracle::runtime_internal
