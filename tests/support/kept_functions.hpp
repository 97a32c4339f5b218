// kept_functions: an executor of functions that runs one when a test says so.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace coracle::testing_support {

// Keeps what it is given, until a test runs it. Its functions must be copyable, as those of many pools.
class kept_functions {
 public:
  void post(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    kept_.push_back(std::move(f));
    filled_.notify_one();
  }
  // Waits for a function, and runs it on this thread.
  void run_one() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !kept_.empty(); });
    const std::function<void()> f = std::move(kept_.front());
    kept_.pop_front();
    lock.unlock();
    f();
  }
  void drop_all() {
    const std::lock_guard lock(mutex_);
    kept_.clear();
  }
  [[nodiscard]] std::size_t size() {
    const std::lock_guard lock(mutex_);
    return kept_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> kept_;
};

}  // namespace coracle::testing_support
