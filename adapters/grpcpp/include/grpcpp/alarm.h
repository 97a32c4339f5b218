// Alarm: an event of a queue at a point in time.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/time.h>

#include <functional>
#include <memory>
#include <utility>

namespace grpc {

namespace internal {

class alarm_core;  // private: src/queue/alarm.cpp

}  // namespace internal

/// One thread at a time may use the object. Its event has `ok` true when the deadline has come, and false
/// when it was cancelled before. A function in place of an event is called with `ok`, on a thread for callbacks.
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
  /// Calls `call` at the deadline. May be called again, also by that function.
  template <typename T>
  void Set(const T& deadline, std::function<void(bool)> call) {
    set(std::move(call), TimePoint<T>(deadline).raw_time());
  }
  /// Has no effect after the deadline.
  void Cancel();

 private:
  void set(CompletionQueue& queue, gpr_timespec deadline, void* tag);
  void set(std::function<void(bool)> call, gpr_timespec deadline);
  std::shared_ptr<internal::alarm_core> core_;
};

}  // namespace grpc
