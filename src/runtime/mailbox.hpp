// mailbox: a queue that takes runnables from other threads to a loop.
#pragma once

#include "base/intrusive_queue.hpp"
#include "coracle/coro/executor.hpp"

#include <atomic>
#include <cstddef>

namespace coracle::runtime_internal {

// Intrusive and lock-free, with any number of producers and one consumer. The runnables of one producer come
// out in the order in which they were pushed. Memory order relies on read-modify-writes alone: TSan supports
// them, but not standalone fences.
class mailbox {
 public:
  // Any thread. The consumer may run and destroy `w` before this returns.
  void push(coro::runnable& w) noexcept {
    coro::runnable* top = top_.load(std::memory_order_relaxed);
    do {
      w.next = top;
    } while (!top_.compare_exchange_weak(top, &w, std::memory_order_acq_rel, std::memory_order_relaxed));
  }
  // Called by the consumer: moves everything to the end of `to`, and returns the count. Since it takes
  // everything at once, the ABA problem cannot arise.
  std::size_t take_all(base::intrusive_queue<coro::runnable>& to) noexcept {
    if (empty()) return 0;
    coro::runnable* newest = top_.exchange(nullptr, std::memory_order_acq_rel);
    coro::runnable* oldest = nullptr;
    while (newest) {
      coro::runnable* next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    std::size_t count = 0;
    for (; oldest; ++count) {
      coro::runnable* next = oldest->next;
      to.push(*oldest);
      oldest = next;
    }
    return count;
  }
  [[nodiscard]] bool empty() const noexcept { return top_.load(std::memory_order_acquire) == nullptr; }

 private:
  std::atomic<coro::runnable*> top_{nullptr};
};

}  // namespace coracle::runtime_internal
