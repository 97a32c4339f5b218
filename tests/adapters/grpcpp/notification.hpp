// notification: something that happens once, and that threads wait for.
#pragma once

#include <condition_variable>
#include <mutex>

namespace call_kinds {

// It may be destroyed as soon as wait() returns.
class notification {
 public:
  void notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return notified_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;
};

}  // namespace call_kinds
