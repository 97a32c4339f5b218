// CompletionQueue: where the operations of the completion-queue API report their ends.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/impl/sync.h>  // IWYU pragma: export
#include <grpcpp/support/time.h>

#include <memory>
#include <utility>

namespace grpc {

namespace internal {

class queue_core;  // private: src/queue/queue_core.hpp

}  // namespace internal

/// Each operation that is started with a tag puts an event with that tag into its queue when it ends. Any
/// thread may use a queue, and several may wait in Next() at the same time; each event is taken by one of
/// them. What an operation received is given to the program by the thread that takes its event.
///
/// `ok` tells that a message was read, that one was given to the connection, that a time has come. It is
/// false for a read after the last message, a write to a call that is over, an alarm that was cancelled. It
/// is always true for Finish().
class CompletionQueue {
 public:
  /// What AsyncNext() found.
  enum NextStatus {
    SHUTDOWN,  ///< the queue was shut down, and all its events were taken
    GOT_EVENT,
    TIMEOUT,
  };

  CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;
  /// Operations that have not ended keep what they need of the queue; their events are dropped.
  virtual ~CompletionQueue();

  /// Blocks until there is an event. False: the queue was shut down, and all its events were taken.
  bool Next(void** tag, bool* ok) { return next(tag, ok, gpr_inf_future(GPR_CLOCK_REALTIME)) == GOT_EVENT; }
  /// The same, until a deadline. One in the past takes an event only if there is one already.
  template <typename T>
  NextStatus AsyncNext(void** tag, bool* ok, const T& deadline) {
    return next(tag, ok, TimePoint<T>(deadline).raw_time());
  }
  /// Calls `f`, then AsyncNext().
  template <typename T, typename F>
  NextStatus DoThenAsyncNext(F&& f, void** tag, bool* ok, const T& deadline) {
    std::forward<F>(f)();
    return AsyncNext(tag, ok, deadline);
  }
  /// No operation is started on the queue from now on. Those that were started still put their events into
  /// it, and Next() returns false after the last of them. Does not cancel anything.
  void Shutdown();

  // For the library.
  explicit CompletionQueue(std::shared_ptr<internal::queue_core> core);
  const std::shared_ptr<internal::queue_core>& core() const { return core_; }

 private:
  NextStatus next(void** tag, bool* ok, gpr_timespec deadline);
  std::shared_ptr<internal::queue_core> core_;
};

/// The queue of a server, from ServerBuilder::AddCompletionQueue(). It is shut down after the server, and its
/// events are taken until Next() returns false.
class ServerCompletionQueue : public CompletionQueue {
 public:
  bool IsFrequentlyPolled() const { return is_frequently_polled_; }

 private:
  friend class ServerBuilder;
  explicit ServerCompletionQueue(bool is_frequently_polled) : is_frequently_polled_(is_frequently_polled) {}
  bool is_frequently_polled_;
};

}  // namespace grpc
