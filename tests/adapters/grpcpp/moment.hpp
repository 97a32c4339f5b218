// moment: something that happens once, and that threads wait for.
#pragma once

#include <condition_variable>
#include <mutex>

namespace harbour {

// It may be destroyed as soon as wait() returns.
class moment {
 public:
  void come() {
    const std::lock_guard lock(mutex_);
    has_come_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_come_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_come_ = false;
};

}  // namespace harbour
