// blocking_pool: the threads behind offload().
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

// Starts `body` on a thread with this name (15 characters count) and with all signals blocked but
// those that a fault of its own raises: signals are for the program's threads.
std::thread start_thread(const std::string& name, std::function<void()> body);

// Threads are started one by one, when a job comes and none is idle, up to the limit, and stay.
// The queue needs no bound of its own: its links lie in the coroutines that wait.
class blocking_pool {
 public:
  explicit blocking_pool(std::size_t threads_max) noexcept
      : threads_max_(threads_max > 0 ? threads_max : 1) {}
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool() { join(); }

  // Any thread. The job's home loop gets it back by post() when it was done. False, and the job is not queued, when
  // there is no thread and none can be started.
  [[nodiscard]] bool push(coro::blocking_job& j) noexcept;
  // Takes a job back that has not begun; false when it has.
  bool take_back(coro::blocking_job& j) noexcept;
  // Ends the threads; no job may be queued or come any more.
  void join() noexcept;
  [[nodiscard]] std::size_t threads() noexcept;
  [[nodiscard]] std::size_t threads_max() const noexcept { return threads_max_; }

 private:
  void start_another() noexcept;
  void serve() noexcept;
  const std::size_t threads_max_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  base::intrusive_list<coro::blocking_job::queue_place> queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coracle::runtime_internal
