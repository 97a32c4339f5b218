// worker: a thread that runs functions, one after another; the smallest executor.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

class worker {
 public:
  worker() : thread_([this] { run(); }) {}
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  // Runs what was posted before, then ends the thread.
  ~worker() {
    post(nullptr);
    thread_.join();
  }
  void post(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(f));
    filled_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return !queue_.empty(); });
      const std::function<void()> f = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!f) return;
      f();
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;  // the last member: it uses the others
};
