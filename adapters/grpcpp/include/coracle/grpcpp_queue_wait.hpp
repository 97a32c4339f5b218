// grpcpp_queue_wait: how a thread waits for a completion queue of grpc++'s API where it waits for other things.
#pragma once

namespace grpc {
class CompletionQueue;
}

namespace coracle {

/// For a thread that takes the events of a completion queue by AsyncNext() and waits for other things as well:
/// a wait for both, which is over when the object is destroyed, on the same thread.
///
///   for (;;) {
///     while (queue.AsyncNext(&tag, &ok, gpr_inf_past(GPR_CLOCK_REALTIME)) == grpc::CompletionQueue::GOT_EVENT) ...
///     const coracle::grpcpp_queue_wait waiting(queue);
///     pollfd both[] = {{waiting.descriptor(), POLLIN}, {other, POLLIN}};
///     poll(both, 2, -1);
///   }
///
/// A thread of the library drives the loop of the queue meanwhile, where this one drives it in Next(). The queue
/// must outlive the object.
class grpcpp_queue_wait {
 public:
  /// Throws std::system_error if the process has no descriptors left.
  explicit grpcpp_queue_wait(grpc::CompletionQueue& queue);
  grpcpp_queue_wait(const grpcpp_queue_wait&) = delete;
  grpcpp_queue_wait& operator=(const grpcpp_queue_wait&) = delete;
  ~grpcpp_queue_wait();
  /// Is readable while AsyncNext() would return an event, or SHUTDOWN. The same one for all waits of a process for
  /// the queue. The caller must neither read nor close it.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  grpc::CompletionQueue& queue_;
  int descriptor_;
};

}  // namespace coracle
