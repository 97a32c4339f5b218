// grpc::internal::Mutex and its sisters, with the names and functions of absl::Mutex, and that where Abseil is installed.
#pragma once

#include <grpc/support/sync.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

#if __has_include(<absl/synchronization/mutex.h>)
#include <absl/strings/string_view.h>  // IWYU pragma: export
#include <absl/synchronization/mutex.h>  // IWYU pragma: export
#include <absl/types/optional.h>  // IWYU pragma: export
#endif

#ifdef __clang__
#define CORACLE_GRPCPP_LOCKS(attribute) __attribute__((attribute))  // of the analysis of threads
#else
#define CORACLE_GRPCPP_LOCKS(attribute)
#endif

namespace grpc::internal {

/// They need no library of Abseil, whose types another release may have compiled otherwise.
class CORACLE_GRPCPP_LOCKS(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void Lock() CORACLE_GRPCPP_LOCKS(acquire_capability()) { mutex_.lock(); }
  void Unlock() CORACLE_GRPCPP_LOCKS(release_capability()) { mutex_.unlock(); }
  bool TryLock() CORACLE_GRPCPP_LOCKS(try_acquire_capability(true)) { return mutex_.try_lock(); }
  void AssertHeld() const CORACLE_GRPCPP_LOCKS(assert_capability(this)) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class CORACLE_GRPCPP_LOCKS(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) CORACLE_GRPCPP_LOCKS(acquire_capability(mutex)) : mutex_(mutex) {
    mutex->Lock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() CORACLE_GRPCPP_LOCKS(release_capability()) { mutex_->Unlock(); }

 private:
  Mutex* const mutex_;
};

class CORACLE_GRPCPP_LOCKS(scoped_lockable) ReleasableMutexLock {
 public:
  explicit ReleasableMutexLock(Mutex* mutex) CORACLE_GRPCPP_LOCKS(acquire_capability(mutex)) : mutex_(mutex) {
    mutex->Lock();
  }
  ReleasableMutexLock(const ReleasableMutexLock&) = delete;
  ReleasableMutexLock& operator=(const ReleasableMutexLock&) = delete;
  ~ReleasableMutexLock() CORACLE_GRPCPP_LOCKS(release_capability()) {
    if (mutex_) mutex_->Unlock();
  }
  void Release() CORACLE_GRPCPP_LOCKS(release_capability()) {
    mutex_->Unlock();
    mutex_ = nullptr;
  }

 private:
  Mutex* mutex_;
};

class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;
  void Signal() { condition_.notify_one(); }
  void SignalAll() { condition_.notify_all(); }
  void Wait(Mutex* mutex) {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// `span` is an absl::Duration. Returns whether it has passed.
  template <class Span>
  bool WaitWithTimeout(Mutex* mutex, Span span) {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    // A century stands for an endless span.
    const double seconds = std::min(ToDoubleSeconds(span), 3.2e9);
    const bool passed =
        condition_.wait_for(lock, std::chrono::duration<double>(seconds)) == std::cv_status::timeout;
    lock.release();
    return passed;
  }
  /// `time` is an absl::Time.
  template <class Time>
  bool WaitWithDeadline(Mutex* mutex, Time time) {
    std::unique_lock lock(mutex->mutex_, std::adopt_lock);
    const bool passed = condition_.wait_until(lock, ToChronoTime(time)) == std::cv_status::timeout;
    lock.release();
    return passed;
  }

 private:
  std::condition_variable condition_;
};

/// Waits until `holds()` returns true. The caller has the lock.
template <class Predicate>
void WaitUntil(CondVar* condition, Mutex* mutex, Predicate holds) {
  while (!holds()) condition->Wait(mutex);
}

}  // namespace grpc::internal
