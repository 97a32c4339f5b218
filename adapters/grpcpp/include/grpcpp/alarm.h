// Alarm: an event of a queue at a point in time.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/time.h>

#include <functional>
#include <memory>

namespace grpc {

namespace internal {

class alarm_core;  // private: src/alarm.cpp

}  // namespace internal

/// One thread at a time may use the object. Its event has `ok` true when the deadline has come, and false
/// when it was cancelled before.
class Alarm {
 public:
  Alarm();
  /// Calls Set().
  template <typename T>
  Alarm(CompletionQueue* queue, const T& deadline, void* tag) : Alarm() {
    Set(queue, deadline, tag);
  }
  Alarm(Alarm&& other) noexcept;
  Alarm& operator=(Alarm&& other) noexcept;
  /// Calls Cancel().
  ~Alarm();

  /// Puts an event with `tag` into the queue at the deadline, at once if that has passed. May be called again
  /// after the event was taken.
  template <typename T>
  void Set(CompletionQueue* queue, const T& deadline, void* tag) {
    set(*queue, TimePoint<T>(deadline).raw_time(), tag);
  }
  template <typename T>
  void Set(const T&, std::function<void(bool)>) {
    static_assert(!internal::is_missing<T>, "coracle::grpcpp has no callback API yet: set the alarm on a queue");
  }
  /// Has no effect after the deadline.
  void Cancel();

 private:
  void set(CompletionQueue& queue, gpr_timespec deadline, void* tag);
  std::unique_ptr<internal::alarm_core> core_;
};

}  // namespace grpc
