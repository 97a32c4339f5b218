// intercepted_operation: an operation of a queue, or with a callback, that interceptors see.
#pragma once

#include <grpcpp/impl/interception.h>
#include <grpcpp/impl/queued_message.h>

#include "adapters/grpcpp/src/queue/queue_core.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace grpc::internal {

// The event of the program around that of the operation itself, which the same call without interceptors
// would have. Its interceptors run before it begins, and again in the thread that takes its event, before the
// program sees it. If one of them lets it go on later, the event goes back meanwhile.
//
// The object owns itself from run() on, until its queue owns it.
class intercepted_operation final : public queue_event {
 public:
  // With null interceptors, `received` sets them.
  intercepted_operation(std::shared_ptr<call_interception> by, std::weak_ptr<queue_core> to, void* tag)
      : queue_event(tag), seen(std::move(by)), to_(std::move(to)) {
    may_go_back = true;
  }

  std::shared_ptr<call_interception> seen;
  interceptor_batch batch;
  // After the interceptors, if none has hijacked the call: starts what ends with end(), or puts an event into
  // the queue of inner(). May be called when the function that started the operation has returned.
  std::function<void(intercepted_operation&)> begin;
  // Before they run again: fills in the batch.
  std::function<void(intercepted_operation&)> received;
  // The last: gives the program what they have made of it. May be empty.
  std::function<void(intercepted_operation&)> give;
  // The program does not see the event.
  bool hidden = false;

  static void run(std::unique_ptr<intercepted_operation> self);
  // For operations that were begun without run(), after begin() of the queue.
  void end(bool succeeded);
  [[nodiscard]] queue_event* inner_event() const noexcept { return inner_.get(); }
  // For operations that begin and end here.
  static void run_ended(std::unique_ptr<intercepted_operation> self, bool succeeded);
  // A queue for the events of such operations themselves, whose tags are the objects. The calls of clients are
  // on the loop of `outer`.
  [[nodiscard]] static std::shared_ptr<queue_core> inner_queue(std::weak_ptr<queue_core> outer = {});
  // Adds a message that is sent to the batch. take_sent(): what is sent after the interceptors.
  void send(serialized_message&& message);
  [[nodiscard]] serialized_message take_sent();
  [[nodiscard]] bool sends() const noexcept { return sends_; }
  // POST_SEND_MESSAGE, if a message was sent.
  void set_sent() { batch.set_sent(seen->hijacked() ? !batch.send_failed() : ok); }

 private:
  class inner_core;
  enum class place : unsigned char { taken, away, done };
  void deliver() override;
  bool goes_back(std::unique_ptr<queue_event>& self) override;
  void let_go();
  void push();

  const std::weak_ptr<queue_core> to_;  // owns the object while it is in it
  std::unique_ptr<queue_event> inner_;
  bool sends_ = false;
  std::optional<serialized_message> unsent_;  // one that could not be serialized
  std::atomic<place> place_{place::taken};
};

}  // namespace grpc::internal
