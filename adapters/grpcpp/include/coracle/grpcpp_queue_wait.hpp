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
/// Where the thread drives the loop of the queue, as it does in Next(), it waits for the loop itself: there is no
/// hop between threads. The queue must outlive the object.
class grpcpp_queue_wait {
 public:
  /// Throws std::system_error or status_error if the process has no descriptors left.
  explicit grpcpp_queue_wait(grpc::CompletionQueue& queue);
  grpcpp_queue_wait(const grpcpp_queue_wait&) = delete;
  grpcpp_queue_wait& operator=(const grpcpp_queue_wait&) = delete;
  ~grpcpp_queue_wait();
  /// Becomes readable when AsyncNext() with a deadline that has passed has something to do: there is an event, or
  /// the loop of the queue has work. The caller must neither read nor close it. It may be another one each time.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  grpc::CompletionQueue& queue_;
  int descriptor_;
};

}  // namespace coracle
