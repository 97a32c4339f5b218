// blocking_pool: the threads that execute offload(); start_thread(), which starts all threads of the library.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/runtime/offload.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace coracle::runtime_internal {

// Starts `body` on a thread with this name, of which 15 characters are significant. The thread blocks all
// signals except those that its own faults raise, because signals are for the program's threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

// Starts threads one by one, when a job arrives and no thread is idle, up to the limit; threads are kept
// until join(). The queue needs no limit of its own: its links are part of the coroutines that wait.
class blocking_pool {
 public:
  explicit blocking_pool(std::size_t threads_max) noexcept
      : threads_max_(threads_max > 0 ? threads_max : 1) {}
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool() { join(); }

  // Any thread. Queues a job, which is posted back to its owner loop when it is done. Returns false, and does
  // not queue the job, when there is no thread and none can be started.
  [[nodiscard]] bool push(coro::blocking_job& j) noexcept;
  // Removes a job that has not begun; returns false when it has.
  bool take_back(coro::blocking_job& j) noexcept;
  // Ends the threads. No job may be queued or arrive afterwards.
  void join() noexcept;
  [[nodiscard]] std::size_t threads() noexcept;
  [[nodiscard]] std::size_t threads_max() const noexcept { return threads_max_; }

 private:
  void start_another() noexcept;
  void serve() noexcept;
  const std::size_t threads_max_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  base::intrusive_list<coro::blocking_job::queue_place> queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coracle::runtime_internal
